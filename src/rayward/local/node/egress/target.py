"""Where a request to the proxy wants to go. Pure."""

from __future__ import annotations

import ipaddress
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

import msgspec

from rayward.net.proxy import is_loopback

PODS: Final = ipaddress.ip_network("10.42.0.0/16")
SERVICES: Final = ipaddress.ip_network("10.43.0.0/16")
_HIGHEST_PORT: Final = 65535


class Way(Enum):
    """How a target is reached."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    FORBIDDEN = "forbidden"


class Target(msgspec.Struct, frozen=True):
    """Host and port."""

    host: str
    port: int

    @property
    def way(self) -> Way:
        """Pods and services are inside; this machine's own loopback is nobody's business."""
        if is_loopback(self.host):
            return Way.FORBIDDEN
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return Way.OUTSIDE
        if address.is_unspecified or address.is_link_local or address.is_multicast:
            return Way.FORBIDDEN
        return Way.INSIDE if address in PODS or address in SERVICES else Way.OUTSIDE


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
