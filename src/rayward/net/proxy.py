"""Which proxy a request goes through."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit


def check_proxy_url(url: str) -> str:
    """``url`` if it is a proxy we can speak to.

    Raises:
        ValueError: The text says what would work.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"proxy {url!r}: only http:// and https:// proxies are supported")
    return url


def proxy_from_environment(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for ``url``."""
    parts = urlsplit(url)
    name = f"{parts.scheme}_proxy"
    proxy = environ.get(name.upper()) or environ.get(name)
    host = parts.hostname or ""
    if not proxy or is_loopback(host) or _is_excluded(host, parts, environ):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def proxy_authorization(proxy: str) -> str | None:
    """The Proxy-Authorization header for a proxy URL with a user in it."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine by name or address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_excluded(host: str, parts: SplitResult, environ: Mapping[str, str]) -> bool:
    rules = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return any(_matches(host, parts.port, rule.strip().lower()) for rule in rules.split(","))


def _matches(host: str, port: int | None, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    name, colon, wanted_port = rule.rpartition(":")
    if colon and wanted_port.isdigit() and ":" not in name:
        if wanted_port != str(port):
            return False
        rule = name
    rule = rule.removeprefix("*").removeprefix(".")
    return bool(rule) and (host == rule or host.endswith("." + rule))
