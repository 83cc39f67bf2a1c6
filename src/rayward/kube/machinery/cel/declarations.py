"""Kubernetes' own functions, as the type checker needs to know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

QUANTITY: Final = "kubernetes.Quantity"
URL: Final = "kubernetes.URL"
SEMVER: Final = "kubernetes.Semver"
FORMAT: Final = "kubernetes.NamedFormat"
IP: Final = "net.IP"
CIDR: Final = "net.CIDR"

_AUTHORIZATION: Final = "kubernetes.authorization"
AUTHORIZER: Final = f"{_AUTHORIZATION}.Authorizer"
PATH_CHECK: Final = f"{_AUTHORIZATION}.PathCheck"
GROUP_CHECK: Final = f"{_AUTHORIZATION}.GroupCheck"
RESOURCE_CHECK: Final = f"{_AUTHORIZATION}.ResourceCheck"
DECISION: Final = f"{_AUTHORIZATION}.Decision"

OPAQUE: Final = (
    QUANTITY,
    URL,
    SEMVER,
    FORMAT,
    IP,
    CIDR,
    AUTHORIZER,
    PATH_CHECK,
    GROUP_CHECK,
    RESOURCE_CHECK,
    DECISION,
)
"""Types that only functions make and take."""

FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)

_SUMMABLE: Final = ("int", "uint", "double", "duration")
_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS: Final = ("int", "uint", "double")
_WELL_KNOWN: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature; a member's first parameter stands before the dot."""

    result: str
    parameters: tuple[str, ...]
    member: bool = True


def _of(result: str, *parameters: str) -> Overload:
    return Overload(result, parameters)


def _global(result: str, *parameters: str) -> Overload:
    return Overload(result, parameters, member=False)


def _name(kind: str) -> str:
    return _WELL_KNOWN.get(kind, kind)


def _comparisons() -> dict[str, tuple[Overload, ...]]:
    mixed = tuple(_global("bool", one, other) for one in _NUMBERS for other in _NUMBERS if one != other)
    return dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), mixed)


_LISTS: Final = {
    "isSorted": tuple(_of("bool", f"list<{_name(kind)}>") for kind in _COMPARABLE),
    "sum": tuple(_of(_name(kind), f"list<{_name(kind)}>") for kind in _SUMMABLE),
    "min": tuple(_of(_name(kind), f"list<{_name(kind)}>") for kind in _COMPARABLE),
    "max": tuple(_of(_name(kind), f"list<{_name(kind)}>") for kind in _COMPARABLE),
    "indexOf": (_of("int", "list<~A>", "~A"),),
    "lastIndexOf": (_of("int", "list<~A>", "~A"),),
}
_REGEX: Final = {
    "find": (_of("string", "string", "string"),),
    "findAll": (_of("list<string>", "string", "string"), _of("list<string>", "string", "string", "int")),
}
_URL: Final = {
    "url": (_global(URL, "string"),),
    "isURL": (_global("bool", "string"),),
    **{name: (_of("string", URL),) for name in ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")},
    "getQuery": (_of("map<string, list<string>>", URL),),
}
_QUANTITY: Final = {
    "quantity": (_global(QUANTITY, "string"),),
    "isQuantity": (_global("bool", "string"),),
    "sign": (_global("int", QUANTITY),),
    "asApproximateFloat": (_of("double", QUANTITY),),
    "asInteger": (_of("int", QUANTITY),),
    "isInteger": (_of("bool", QUANTITY),),
    "add": (_of(QUANTITY, QUANTITY, QUANTITY), _of(QUANTITY, QUANTITY, "int")),
    "sub": (_of(QUANTITY, QUANTITY, QUANTITY), _of(QUANTITY, QUANTITY, "int")),
}
_ORDER: Final = {
    "isGreaterThan": (_of("bool", QUANTITY, QUANTITY), _of("bool", SEMVER, SEMVER)),
    "isLessThan": (_of("bool", QUANTITY, QUANTITY), _of("bool", SEMVER, SEMVER)),
    "compareTo": (_of("int", QUANTITY, QUANTITY), _of("int", SEMVER, SEMVER)),
}
_SEMVER: Final = {
    "semver": (_global(SEMVER, "string"), _global(SEMVER, "string", "bool")),
    "isSemver": (_global("bool", "string"), _global("bool", "string", "bool")),
    **{part: (_of("int", SEMVER),) for part in ("major", "minor", "patch")},
}
_NETWORK: Final = {
    "ip": (_global(IP, "string"), _of(IP, CIDR)),
    "isIP": (_global("bool", "string"),),
    "ip.isCanonical": (_global("bool", "string"),),
    "family": (_of("int", IP),),
    **{
        name: (_of("bool", IP),)
        for name in ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")
    },
    "cidr": (_global(CIDR, "string"),),
    "isCIDR": (_global("bool", "string"),),
    "containsIP": (_of("bool", CIDR, "string"), _of("bool", CIDR, IP)),
    "containsCIDR": (_of("bool", CIDR, "string"), _of("bool", CIDR, CIDR)),
    "prefixLength": (_of("int", CIDR),),
    "masked": (_of(CIDR, CIDR),),
    "string": (_global("string", IP), _global("string", CIDR)),
}
_FORMAT: Final = {
    "format.named": (_global(f"optional_type<{FORMAT}>", "string"),),
    "validate": (_of("optional_type<list<string>>", FORMAT, "string"),),
    **{f"format.{name}": (_global(FORMAT),) for name in FORMATS},
}

_ACCESS: Final = {
    "path": (_of(PATH_CHECK, AUTHORIZER, "string"),),
    "group": (_of(GROUP_CHECK, AUTHORIZER, "string"),),
    "serviceAccount": (_of(AUTHORIZER, AUTHORIZER, "string", "string"),),
    "resource": (_of(RESOURCE_CHECK, GROUP_CHECK, "string"),),
    **{
        name: (_of(RESOURCE_CHECK, RESOURCE_CHECK, "string"),)
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    },
    "check": (_of(DECISION, PATH_CHECK, "string"), _of(DECISION, RESOURCE_CHECK, "string")),
    "errored": (_of("bool", DECISION),),
    "error": (_of("string", DECISION),),
    "allowed": (_of("bool", DECISION),),
    "reason": (_of("string", DECISION),),
}

FUNCTIONS: Final[dict[str, tuple[Overload, ...]]] = {
    **_comparisons(),
    **_LISTS,
    **_REGEX,
    **_URL,
    **_QUANTITY,
    **_ORDER,
    **_SEMVER,
    **_NETWORK,
    **_FORMAT,
    **_ACCESS,
}
