"""IP addresses and networks as Go's ``net/netip`` reads them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel.values import EvaluationError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Network:
    """An address and how many of its bits name the network; the other bits may be set."""

    address: Address
    bits: int

    def __str__(self) -> str:
        return f"{text_of(self.address)}/{self.bits}"

    def masked(self) -> Network:
        """The same network with the other bits cleared."""
        shift = self.address.max_prefixlen - self.bits
        return Network(self.address.__class__(int(self.address) >> shift << shift), self.bits)

    def contains(self, other: Address) -> bool:
        """Whether an address is in the network."""
        if other.version != self.address.version:
            return False
        shift = self.address.max_prefixlen - self.bits
        return int(other) >> shift == int(self.address) >> shift


def is_loose_address(text: str) -> bool:
    """Whether Go's ``net.ParseIP`` takes the text; it has no zones."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and "/" not in text


def text_of(address: Address) -> str:
    """The canonical text of an address."""
    return str(address)


def parse_address(text: str) -> Address:
    """An address without a zone that is not IPv4 inside IPv6."""
    shown = gotext.quoted(text)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        problem = _problem(text)
        raise EvaluationError(f"IP Address {shown} parse error during conversion from string: {problem}") from None
    if "%" in text:
        raise EvaluationError(f"IP address {shown} with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {shown} is not allowed")
    return address


def _problem(text: str) -> str:
    """What Go's parser has against a text that is no address."""
    first = next((c for c in text if c in ".:%"), "")
    found = {".": _ipv4_problem, ":": _ipv6_problem}.get(first)
    problem = found(text) if found is not None else ("missing IPv6 address" if first else "unable to parse IP")
    return f"ParseAddr({gotext.quoted(text)}): {problem}"


def _at(problem: str, rest: str) -> str:
    return f"{problem} (at {gotext.quoted(rest)})"


def _ipv4_problem(text: str) -> str:
    fields = digits = value = 0
    for place, c in enumerate(text):
        if "0" <= c <= "9":
            if digits == 1 and value == 0:
                return "IPv4 field has octet with leading zero"
            value, digits = value * 10 + int(c), digits + 1
            if value > 255:
                return "IPv4 field has value >255"
        elif c != ".":
            return _at("unexpected character", text[place:])
        elif place in (0, len(text) - 1) or text[place - 1] == ".":
            return _at("IPv4 field must have at least one digit", text[place:])
        elif fields == 3:
            return "IPv4 address too long"
        else:
            fields, digits, value = fields + 1, 0, 0
    return "IPv4 address too short"


_GROUP: Final = re.compile("[0-9A-Fa-f]*")


def _ipv6_problem(text: str) -> str:
    rest = text.partition("%")[0]
    ellipsis = rest.startswith("::")
    rest = rest[2:] if ellipsis else rest
    groups = 0
    while groups < 8 and rest:
        match = _GROUP.match(rest)
        size = match.end() if match else 0
        if size > 4:
            return _at("each group must have 4 or less digits", rest)
        if not size:
            return _at("each colon-separated field must have at least one digit", rest)
        if rest[size : size + 1] == ".":
            return _ipv4_problem(rest)
        groups, rest = groups + 1, rest[size:]
        if not rest:
            break
        if not rest.startswith(":"):
            return _at("unexpected character, want colon", rest)
        if len(rest) == 1:
            return _at("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest.startswith(":"):
            if ellipsis:
                return _at("multiple :: in address", rest)
            ellipsis, rest = True, rest[1:]
    if rest:
        return _at("trailing garbage after address", rest)
    return "the :: must expand to at least one field of zeros" if groups == 8 else "address string too short"


def parse_network(text: str) -> Network:
    """An address with a prefix length."""
    address, slash, bits = text.rpartition("/")
    problem = f"netip.ParsePrefix({gotext.quoted(text)}): "
    prefix = "network address parse error during conversion from string: "
    if not slash:
        raise EvaluationError(f"{prefix}{problem}no '/'")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise EvaluationError(f"{prefix}{problem}{_problem(address)}") from None
    if "%" in address:
        raise EvaluationError(f"{prefix}{problem}IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or len(bits) > 3 or (len(bits) > 1 and bits.startswith("0")):
        raise EvaluationError(f"{prefix}{problem}bad bits after slash: {gotext.quoted(bits)}")
    if int(bits) > parsed.max_prefixlen:
        raise EvaluationError(f"{prefix}{problem}prefix length out of range")
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {gotext.quoted(text)} is not allowed")
    return Network(parsed, int(bits))


def is_global_unicast(address: Address) -> bool:
    """Neither broadcast, unspecified, loopback, multicast nor link-local."""
    return not (
        str(address) == "255.255.255.255"
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def is_link_local_multicast(address: Address) -> bool:
    """In 224.0.0.0/24, or an IPv6 multicast address of link scope."""
    if isinstance(address, ipaddress.IPv4Address):
        return int(address) >> 8 == 0xE00000
    return int(address) >> 112 & 0xFF0F == 0xFF02
