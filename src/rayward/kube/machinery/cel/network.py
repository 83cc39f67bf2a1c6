"""IP addresses and networks as Go's ``net/netip`` reads them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from rayward.kube.machinery.cel import gotext
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
    shown = gotext.quote(text)
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
    shown = f"ParseAddr({gotext.quote(text)})"
    for c in text:
        if c == ".":
            return f"{shown}: {_ipv4_problem(text)}"
        if c == ":":
            return f"{shown}: {_ipv6_problem(text)}"
        if c == "%":
            return f"{shown}: missing IPv6 address"
    return f"{shown}: unable to parse IP"


def _ipv4_problem(text: str) -> str:
    if any(not (c.isascii() and (c.isdigit() or c == ".")) for c in text):
        return "unexpected character (at " + gotext.quote(text.lstrip("0123456789.")) + ")"
    fields = text.split(".")
    if any(not field for field in fields):
        return "IPv4 field must have at least one digit (at " + gotext.quote(text[_empty_field(text) :]) + ")"
    if any(len(field) > 1 and field.startswith("0") for field in fields):
        return "IPv4 field has octet with leading zero"
    if any(int(field) > 255 for field in fields):
        return "IPv4 field has value >255"
    return "IPv4 address too long" if len(fields) > 4 else "IPv4 address too short"


def _empty_field(text: str) -> int:
    return 0 if text.startswith(".") else max(text.find(".."), 0)


def _ipv6_problem(text: str) -> str:
    if text.count("::") > 1 or ":::" in text:
        return "multiple :: in address (at " + gotext.quote(text[text.rfind("::") :]) + ")"
    groups = [group for group in text.split(":") if group]
    if any(len(group) > 4 and "." not in group for group in groups):
        return "each group must have 4 or less digits (at " + gotext.quote(text) + ")"
    return "address string too short" if len(groups) < 8 else "trailing garbage after address"


def parse_network(text: str) -> Network:
    """An address with a prefix length."""
    address, slash, bits = text.rpartition("/")
    problem = f"netip.ParsePrefix({gotext.quote(text)}): "
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
        raise EvaluationError(f"{prefix}{problem}bad bits after slash: {gotext.quote(bits)}")
    if int(bits) > parsed.max_prefixlen:
        raise EvaluationError(f"{prefix}{problem}prefix length out of range")
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {gotext.quote(text)} is not allowed")
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
