"""Kubernetes' function libraries: quantities, URLs, addresses, versions, named formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from rayward.kube.machinery import names, quantity
from rayward.kube.machinery.cel import formats, network, url
from rayward.kube.machinery.cel.network import Network
from rayward.kube.machinery.cel.overloads import Overloads, binary, nullary, unary
from rayward.kube.machinery.cel.url import Url
from rayward.kube.machinery.cel.values import MAX_INT, MIN_INT, NONE, EvaluationError, Optional
from rayward.kube.machinery.digits import MAX_UINT64, parse_digits
from rayward.kube.machinery.quantity import Quantity, QuantityError

_ADDRESS: Final = (IPv4Address, IPv6Address)
_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)


def _holds(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return test


def to_quantity(text: str) -> Quantity:
    """``quantity()``."""
    try:
        return quantity.parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _as_integer(amount: Quantity) -> int:
    if not _is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.unscaled * 10**amount.scale


def _is_integer(amount: Quantity) -> bool:
    if amount.unscaled == 0:
        return True
    return 0 <= amount.scale <= 18 and MIN_INT <= amount.unscaled * 10**amount.scale <= MAX_INT


def _approximate(amount: Quantity) -> float:
    return float(amount.unscaled) * 10.0**amount.scale if abs(amount.scale) < 300 else 0.0


def _order(one: Any, other: Any) -> int:
    return (one > other) - (one < other)


def to_url(text: str) -> Url:
    """``url()``."""
    try:
        return url.parse(text)
    except EvaluationError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def to_network(text: str) -> Network:
    """``cidr()``."""
    try:
        return network.parse_network(text)
    except EvaluationError as error:
        raise EvaluationError(f"network address parse error during conversion from string: {error}") from None


def _contains_network(outer: Network, inner: Network) -> bool:
    return outer.contains(inner.address) and outer.bits <= inner.bits


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; build metadata plays no part in order."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...]
    build: str = ""

    @property
    def order(self) -> tuple[Any, ...]:
        """What versions are compared by: a pre-release comes before its release, numbers before words."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (*self.numbers, not self.pre, parts)


def to_semver(text: str, normalize: bool = False) -> Semver:
    """``semver()``."""
    if normalize:
        text = _normalized(text)
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise EvaluationError(_semver_problem(text))
    pre = tuple((match[4] or "").split(".")) if match[4] else ()
    if any(not part or (part.isdigit() and len(part) > 1 and part[0] == "0") for part in pre):
        raise EvaluationError(
            "Prerelease is empty" if "" in pre else "Numeric PreRelease version must not contain leading zeroes"
        )
    for part in pre:
        if part.isdigit():
            _semver_number(part)
    return Semver((_semver_number(match[1]), _semver_number(match[2]), _semver_number(match[3])), pre, match[5] or "")


def _semver_number(text: str) -> int:
    number = parse_digits(text, MAX_UINT64)
    if number is None:
        raise EvaluationError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return number


def _semver_problem(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    for part, name in zip(parts, ("major", "minor", "patch"), strict=True):
        digits = re.split(r"[-+]", part)[0] if name == "patch" else part
        if not digits.isascii() or not digits.isdigit():
            return f'Invalid character(s) found in {name} number "{digits}"'
        if len(digits) > 1 and digits[0] == "0":
            return f'{name.title()} number must not contain leading zeroes "{digits}"'
    return "Invalid version"


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[place] = stripped if stripped[:1].isdigit() else "0" + stripped
    if len(parts) < 3:
        if any(c in parts[-1] for c in "+-"):
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """One of Kubernetes' text formats."""

    name: str
    check: Callable[[str], list[str]]


def _uri_problems(text: str) -> list[str]:
    try:
        url.parse(text)
    except EvaluationError as error:
        return [str(error)]
    return []


def _simple(test: Callable[[str], bool], problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if test(text) else [problem]


_FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": lambda text: names.label_name(text, False),
    "dns1123Subdomain": lambda text: names.subdomain_name(text, False),
    "dns1035Label": lambda text: names.label_1035_name(text, False),
    "qualifiedName": names.check_qualified_name,
    "dns1123LabelPrefix": lambda text: names.label_name(text, True),
    "dns1123SubdomainPrefix": lambda text: names.subdomain_name(text, True),
    "dns1035LabelPrefix": lambda text: names.label_1035_name(text, True),
    "labelValue": names.check_label_value,
    "uri": _uri_problems,
    "uuid": _simple(formats.is_uuid, "does not match the UUID format"),
    "byte": _simple(formats.is_base64, "invalid base64"),
    "date": _simple(formats.is_date, "invalid date"),
    "datetime": _simple(formats.is_date_time, "invalid datetime"),
}


def _named(name: str) -> Optional:
    check = _FORMATS.get(name)
    return NONE if check is None else Optional(NamedFormat(name, check))


def _format(name: str) -> Callable[[], NamedFormat]:
    found = NamedFormat(name, _FORMATS[name])
    return lambda: found


def _validate(named: NamedFormat, text: str) -> Optional:
    problems = named.check(text)
    return Optional(problems) if problems else NONE


def _is_canonical(text: str) -> bool:
    return network.text_of(network.parse_address(text)) == text


OVERLOADS: Final[Overloads] = {
    "quantity": [unary(str, to_quantity)],
    "isQuantity": [unary(str, _holds(to_quantity))],
    "sign": [unary(Quantity, lambda amount: (amount.unscaled > 0) - (amount.unscaled < 0))],
    "asApproximateFloat": [unary(Quantity, _approximate)],
    "asInteger": [unary(Quantity, _as_integer)],
    "isInteger": [unary(Quantity, _is_integer)],
    "add": [binary(Quantity, Quantity, lambda a, b: a + b), binary(Quantity, int, lambda a, b: a + Quantity(b))],
    "sub": [binary(Quantity, Quantity, lambda a, b: a - b), binary(Quantity, int, lambda a, b: a - Quantity(b))],
    "isGreaterThan": [
        binary(Quantity, Quantity, lambda a, b: a > b),
        binary(Semver, Semver, lambda a, b: a.order > b.order),
    ],
    "isLessThan": [
        binary(Quantity, Quantity, lambda a, b: a < b),
        binary(Semver, Semver, lambda a, b: a.order < b.order),
    ],
    "compareTo": [binary(Quantity, Quantity, _order), binary(Semver, Semver, lambda a, b: _order(a.order, b.order))],
    "semver": [unary(str, to_semver), binary(str, bool, to_semver)],
    "isSemver": [
        unary(str, _holds(to_semver)),
        binary(str, bool, lambda text, normalize: _holds(lambda t: to_semver(t, normalize))(text)),
    ],
    "major": [unary(Semver, lambda version: version.numbers[0])],
    "minor": [unary(Semver, lambda version: version.numbers[1])],
    "patch": [unary(Semver, lambda version: version.numbers[2])],
    "url": [unary(str, to_url)],
    "isURL": [unary(str, _holds(url.parse))],
    "getScheme": [unary(Url, lambda found: found.scheme)],
    "getHost": [unary(Url, lambda found: found.host)],
    "getHostname": [unary(Url, lambda found: found.hostname)],
    "getPort": [unary(Url, lambda found: found.port)],
    "getEscapedPath": [unary(Url, Url.escaped_path)],
    "getQuery": [unary(Url, Url.parameters)],
    "ip": [unary(str, network.parse_address), unary(Network, lambda found: found.address)],
    "isIP": [unary(str, _holds(network.parse_address))],
    "ip.isCanonical": [unary(str, _is_canonical)],
    "family": [unary(_ADDRESS, lambda address: address.version)],
    "isUnspecified": [unary(_ADDRESS, lambda address: address.is_unspecified)],
    "isLoopback": [unary(_ADDRESS, lambda address: address.is_loopback)],
    "isLinkLocalMulticast": [unary(_ADDRESS, network.is_link_local_multicast)],
    "isLinkLocalUnicast": [unary(_ADDRESS, lambda address: address.is_link_local)],
    "isGlobalUnicast": [unary(_ADDRESS, network.is_global_unicast)],
    "cidr": [unary(str, to_network)],
    "isCIDR": [unary(str, _holds(to_network))],
    "containsIP": [
        binary(Network, str, lambda found, text: found.contains(network.parse_address(text))),
        binary(Network, _ADDRESS, Network.contains),
    ],
    "containsCIDR": [
        binary(Network, str, lambda found, text: _contains_network(found, to_network(text))),
        binary(Network, Network, _contains_network),
    ],
    "prefixLength": [unary(Network, lambda found: found.bits)],
    "masked": [unary(Network, Network.masked)],
    "format.named": [unary(str, _named)],
    "validate": [binary(NamedFormat, str, _validate)],
    **{f"format.{name}": [nullary(_format(name))] for name in _FORMATS},
}
