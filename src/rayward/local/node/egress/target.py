"""Where a request to the proxy wants to go. Pure."""

from __future__ import annotations

import ipaddress
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

import msgspec

PODS: Final = ipaddress.ip_network("10.42.0.0/16")
SERVICES: Final = ipaddress.ip_network("10.43.0.0/16")
_HIGHEST_PORT: Final = 65535
_METADATA: Final = frozenset(
    map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
"""Where clouds tell machines their credentials, beside the link-local address that most use."""
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Way(Enum):
    """How a target is reached."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    FORBIDDEN = "forbidden"


class Target(msgspec.Struct, frozen=True):
    """Host, as it was written, and port."""

    host: str
    port: int


def way_to(address: str) -> Way:
    """How a resolved address is reached: pods and services inside, this machine and its cloud's metadata not at all."""
    found = [ipaddress.ip_address(address)]
    if isinstance(found[0], ipaddress.IPv6Address):
        found += _embedded(found[0])
    if any(_is_forbidden(one) for one in found):
        return Way.FORBIDDEN
    return Way.INSIDE if any(one in PODS or one in SERVICES for one in found) else Way.OUTSIDE


def _embedded(address: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The older addresses that gateways, or this kernel, make of a newer one."""
    found = [one for one in (address.ipv4_mapped, address.sixtofour) if one is not None]
    if address in _TRANSLATED or int(address) >> 32 == 0:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found


def _is_forbidden(address: _Address) -> bool:
    return (
        address.is_loopback
        or address.is_unspecified
        or address.is_link_local
        or address.is_multicast
        or address in _METADATA
        or (address.version == 4 and int(address) >> 24 in (0, 255))
    )


def of_connect(text: str) -> Target | None:
    """The target of ``CONNECT host:port``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) <= _HIGHEST_PORT:
        return None
    return Target(host, int(port))


def of_url(url: str) -> tuple[Target, str] | None:
    """The target of a plain request, and what to ask there."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        return None
    if parts.scheme != "http" or not host:
        return None
    query = f"?{parts.query}" if parts.query else ""
    return Target(host, port), (parts.path or "/") + query


def variables(address: str, port: int) -> dict[str, str]:
    """The variables by which programs in pods find the proxy, and know what not to send there."""
    url = f"http://{address}:{port}"
    inside = ("localhost", "127.0.0.1", "::1", ".svc", ".cluster.local", str(PODS), str(SERVICES))
    found = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": ",".join(inside)}
    return {**found, **{name.lower(): value for name, value in found.items()}}
