"""Where a request to the proxy wants to go. Pure."""

from __future__ import annotations

import ipaddress
import re
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

import msgspec

PODS: Final = ipaddress.ip_network("10.42.0.0/16")
SERVICES: Final = ipaddress.ip_network("10.43.0.0/16")
_HIGHEST_PORT: Final = 65535
_METADATA: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "168.63.129.16",  # Azure
            "100.100.100.200",  # Alibaba Cloud
            "192.0.0.192",  # Oracle Cloud
            "fd00:c1::a9fe:a9fe",
            "fd00:ec2::/32",  # AWS: metadata, identities of pods
            "fd20:ce::254",  # Google Cloud
            "fd00:42::42",  # Scaleway
        ),
    )
)
"""Where clouds tell machines their credentials, beside the link-local addresses that most use."""
_TRANSLATED: Final = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96")))
_TUNNELLED: Final = (0x5EFE, 0x2005EFE)
"""Before an older address, in the lower half of one that ISATAP makes of it."""
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
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
    found = [one for one in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if one is not None]
    value = int(address)
    translated = any(address in network for network in _TRANSLATED)
    if translated or value >> 32 == 0 or (value >> 32) & 0xFFFFFFFF in _TUNNELLED:
        found.append(ipaddress.IPv4Address(value & 0xFFFFFFFF))
    return found


def _is_forbidden(address: _Address) -> bool:
    return (
        address.is_loopback
        or address.is_unspecified
        or address.is_link_local
        or address.is_multicast
        or (address.version == 6 and address.is_site_local)
        or any(address in network for network in _METADATA)
        or (address.version == 4 and int(address) >> 24 in (0, 255))
    )


def of_connect(text: str) -> Target | None:
    """The target of ``CONNECT host:port``."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(host) or not port.isdecimal() or len(port) > 5 or not 0 < int(port) <= _HIGHEST_PORT:
        return None
    return Target(host, int(port))


def of_url(url: str) -> tuple[Target, str] | None:
    """The target of a plain request, and what to ask there."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        return None
    if parts.scheme != "http" or not host or not _HOST.fullmatch(host):
        return None
    query = f"?{parts.query}" if parts.query else ""
    return Target(host, port), (parts.path or "/") + query


def is_name_of_others(host: str) -> bool:
    """Whether a host that this machine cannot resolve may be left to a proxy that perhaps can.

    Not an address in whatever spelling, which the proxy could read otherwise, and no name of this machine.
    """
    *domain, last = host.rstrip(".").lower().split(".")
    return bool(domain) and ":" not in host and not _NUMBER.fullmatch(last) and last not in ("localhost", "localdomain")


def variables(address: str, port: int) -> dict[str, str]:
    """The variables by which programs in pods find the proxy, and know what not to send there."""
    url = f"http://{address}:{port}"
    inside = ("localhost", "127.0.0.1", "::1", ".svc", ".cluster.local", str(PODS), str(SERVICES))
    found = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "NO_PROXY": ",".join(inside)}
    return {**found, **{name.lower(): value for name, value in found.items()}}
