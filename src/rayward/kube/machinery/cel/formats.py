"""String formats that an OpenAPI schema may name, as kube-apiserver checks them."""

from __future__ import annotations

import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from typing import Final

from rayward.kube.machinery.cel import network, url
from rayward.kube.machinery.cel.times import parse_duration_leniently
from rayward.kube.machinery.cel.values import EvaluationError

Check = Callable[[str], bool]


def supported(name: str) -> bool:
    """Whether the format is checked at all; others are ignored."""
    return name.replace("-", "") in _CHECKS


def check(name: str) -> Check:
    """The check of a supported format."""
    return _CHECKS[name.replace("-", "")]


def _pattern(source: str, flags: int = 0) -> Check:
    compiled = re.compile(source, flags | re.ASCII)
    return lambda text: compiled.search(text) is not None


_TIME: Final = re.compile(r"\A([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_DATE: Final = re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def is_date(text: str) -> bool:
    """A full date, ``2006-01-02``."""
    if not _DATE.match(text):
        return False
    try:
        date.fromisoformat(text if text[:4] != "0000" else "0400" + text[4:])
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """A date and time as in RFC 3339, checked as loosely as kube-apiserver does."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    match = _TIME.match(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    try:
        parse_duration_leniently(text)
    except EvaluationError:
        return False
    return True


# \p{S} and \p{L} stand for every symbol and letter beyond ASCII.
_WIDE: Final = "\u00a1-\U0010ffff$+<=>^`|~"
_HOSTNAME: Final = re.compile(
    rf"\A([a-zA-Z0-9{_WIDE}]((-?[a-zA-Z0-9{_WIDE}]{{0,62}})?)"
    rf"|([a-zA-Z0-9{_WIDE}](([a-zA-Z0-9-{_WIDE}]{{0,61}}[a-zA-Z0-9{_WIDE}])?)(\.)){{1,}}([a-zA-Z\u00aa-\U0010ffff]){{2,63}})\Z"
)


def _is_hostname(text: str) -> bool:
    return (
        len(text.encode()) <= 255
        and all(len(part.encode()) <= 63 for part in text.split("."))
        and _HOSTNAME.match(text) is not None
    )


_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-]+"
_DOT_ATOM: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_QUOTED: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# Possessive: a text that fails has been read once.
_NAME: Final = re.compile(r"""(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff. \t-]++|"(?:[^"\\\n]++|\\.)*+")*+""")
_LITERAL: Final = re.compile(r"\[[^\[\]\\]*\]")


def _is_email(text: str) -> bool:
    """An address as in RFC 5322, with or without a name before it; no comments."""
    text = text.strip(" \t\r\n")
    if text.endswith(">"):
        name, bracket, text = text[:-1].rpartition("<")
        if not bracket or not _NAME.fullmatch(name):
            return False
    local, _, domain = text.rpartition("@")
    if not (_DOT_ATOM.fullmatch(local) or _QUOTED.fullmatch(local)):
        return False
    return (_DOT_ATOM.fullmatch(domain) or _LITERAL.fullmatch(domain)) is not None


def _is_ipv4(text: str) -> bool:
    # Leading zeros are tolerated, and an IPv6 address that ends in dotted form passes too.
    return "." in text and network.is_loose_address(_without_zeros(text))


def _without_zeros(text: str) -> str:
    return ".".join(part.lstrip("0") or "0" if part.isascii() and part.isdigit() else part for part in text.split("."))


def _is_ipv6(text: str) -> bool:
    return ":" in text and "%" not in text and network.is_loose_address(text)


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch(r"[0-9]{1,3}", bits):
        return False
    loose = _without_zeros(address)
    if not network.is_loose_address(loose):
        return False
    return int(bits) <= (32 if isinstance(ipaddress.ip_address(loose), ipaddress.IPv4Address) else 128)


_MAC: Final = re.compile(
    r"(?:[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}(?:(?:\1[0-9a-fA-F]{2}){2}|(?:\1[0-9a-fA-F]{2}){14})?)"
    r"|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?:\.[0-9a-fA-F]{4}|(?:\.[0-9a-fA-F]{4}){7})?"
    r"|[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})"
)


def _is_mac(text: str) -> bool:
    return _MAC.fullmatch(text) is not None


def is_uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    try:
        url.parse(text)
    except EvaluationError:
        return False
    return True


_CARD: Final = re.compile(
    r"\A(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})\Z",
    re.ASCII,
)


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.match(digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value % 10 + value // 10
    return total % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if c == "X" else int(c) for c in digits]
    return sum(weight * value for weight, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    checksum = sum((1, 3)[place % 2] * int(c) for place, c in enumerate(digits[:12]))
    return int(digits[12]) == (10 - checksum % 10) % 10


_BASE64: Final = _pattern(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})\Z")
_SSN: Final = _pattern(r"^\d{3}[- ]?\d{2}[- ]?\d{4}\Z")
_SHORT_NAME: Final = _pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_LONG_NAME: Final = _pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_RGB: Final = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"


def _is_object_id(text: str) -> bool:
    try:
        return len(binascii.unhexlify(text)) == 12
    except (ValueError, UnicodeEncodeError):
        return False


def _uuid(version: str, variant: str) -> Check:
    return _pattern(rf"^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}-?{variant}-?[0-9a-f]{{12}}\Z", re.IGNORECASE)


_ANY4: Final = "[0-9a-f]{4}"
_VARIANT: Final = "[89ab][0-9a-f]{3}"

is_uuid: Final = _uuid(_ANY4, _ANY4)
is_base64: Final = _BASE64

_CHECKS: Final[dict[str, Check]] = {
    "bsonobjectid": _is_object_id,
    "uri": is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": is_uuid,
    "uuid3": _uuid("3[0-9a-f]{3}", _ANY4),
    "uuid4": _uuid("4[0-9a-f]{3}", _VARIANT),
    "uuid5": _uuid("5[0-9a-f]{3}", _VARIANT),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and _SSN(text),
    "hexcolor": _pattern(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z"),
    "rgbcolor": _pattern(rf"^rgb\(\s*{_RGB}\s*,\s*{_RGB}\s*,\s*{_RGB}\s*\)\Z"),
    "byte": _BASE64,
    "password": lambda _: True,
    "date": is_date,
    "duration": _is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME(text),
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME(text),
}
