"""How to reach one API server, and as whom."""

from __future__ import annotations

import msgspec

from rayward.kube.client.credentials import ANONYMOUS, ConfigError, Credentials
from rayward.net.tls import SYSTEM_TLS, ClientTls

__all__ = ["Access", "ConfigError"]


class Access(msgspec.Struct, frozen=True):
    """One server, one user."""

    server: str
    """The URL, without a slash at its end."""
    tls: ClientTls = SYSTEM_TLS
    proxy: str | None = None
    credentials: Credentials = ANONYMOUS
    namespace: str = "default"
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request: the user to act as, and the like."""
