"""IP addresses and CIDRs as the built-in kinds read them.

Old fields accept every form that was ever stored, so parsing forgives leading zeros and says so afterwards.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence

from rayward.kube.machinery.digits import parse_digits
from rayward.kube.machinery.fielderror import invalid
from rayward.local.apiserver.builtin.check import Errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse(value: str) -> Address | None:
    """The address, also when written with leading zeros; None if it is none."""
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        pass
    try:
        return ipaddress.ip_address(_without_leading_zeros(value))
    except ValueError:
        return None


def _without_leading_zeros(value: str) -> str:
    head, colon, tail = value.rpartition(":")
    parts = tail.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(value)
    return head + colon + ".".join(part.lstrip("0") or "0" for part in parts)


def _strict(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def is_ipv6(value: str) -> bool:
    """Whether this is an address of the sixth version (a mapped IPv4 address is not)."""
    address = parse(value)
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None


def shown(address: Address) -> str:
    """The canonical text; a mapped IPv4 address as IPv4."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


def is_dual_stack(values: Sequence[str]) -> bool:
    """Whether both families are among the addresses."""
    return any(map(is_ipv6, values)) and not all(map(is_ipv6, values))


def legacy_ip(value: str, at: str, out: Errors, known: Collection[str] = ()) -> None:
    """An address in a field older than strict parsing; ``known`` values were stored before."""
    if value in known:
        return
    address = parse(value)
    if address is None:
        out.append(invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"))
        return
    if not _strict(value):
        out.append(invalid(at, value, "must not have leading 0s"))
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        out.append(invalid(at, value, "must not be an IPv4-mapped IPv6 address"))


def parse_cidr(value: str) -> tuple[Address, Network] | None:
    """The address and the network of ``address/length``; None if it is none."""
    host, slash, length = value.partition("/")
    address = parse(host)
    bits = parse_digits(length, address.max_prefixlen) if slash and address is not None else None
    if address is None or bits is None:
        return None
    return address, ipaddress.ip_network(f"{address}/{bits}", strict=False)


def legacy_cidr(value: str, at: str, out: Errors, known: Collection[str] = ()) -> None:
    """A CIDR in a field older than strict parsing; ``known`` values were stored before."""
    if value in known:
        return
    parsed = parse_cidr(value)
    if parsed is None:
        out.append(invalid(at, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"))
        return
    address, network = parsed
    host, _, length = value.partition("/")
    if not _strict(host) or (len(length) > 1 and length.startswith("0")):
        out.append(invalid(at, value, "must not have leading 0s in IP or prefix length"))
    elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        out.append(invalid(at, value, "must not have an IPv4-mapped IPv6 address"))
    elif address != network.network_address:
        out.append(invalid(at, value, "must not have bits set beyond the prefix length"))


def endpoint_ip(value: str, at: str, out: Errors) -> None:
    """An address that traffic can be sent to."""
    address = parse(value)
    if address is None:
        out.append(invalid(at, value, "must be a valid IP address"))
        return
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_unspecified:
        out.append(invalid(at, value, f"may not be unspecified ({value})"))
    if address.is_loopback:
        out.append(invalid(at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        out.append(invalid(at, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in _LINK_LOCAL_MULTICAST[address.version]:
        out.append(invalid(at, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))


_LINK_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def ip_warnings(value: str, at: str) -> list[str]:
    """Warnings about an address in a form that is not the standard one."""
    address = parse(value)
    if address is None:
        return []
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if mapped or not _strict(value):
        return [f'{at}: non-standard IP address "{value}" is invalid: use "{shown(address)}"']
    if address.version == 6 and str(address) != value:
        return [f'{at}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")']
    return []


def cidr_warnings(value: str, at: str) -> list[str]:
    """Warnings about a CIDR in a form that is not the standard one."""
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    address, network = parsed
    host, _, length = value.partition("/")
    warnings: list[str] = []
    if address != network.network_address:
        single = f"{shown(address)}/{address.max_prefixlen}"
        warnings.append(
            f'{at}: CIDR value "{value}" is ambiguous in this context (should be "{network}" or "{single}"?)'
        )
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if mapped or not _strict(host) or (len(length) > 1 and length.startswith("0")):
        warnings.append(f'{at}: non-standard CIDR value "{value}" is invalid: use "{network}"')
    if not warnings and address.version == 6 and str(network) != value:
        warnings.append(f'{at}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{network}")')
    return warnings
