"""Who may talk to the server: holders of its token, of a token it issued, or of a certificate it signed."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from rayward.local.apiserver.identity import ADMIN, User

Verify = Callable[[str], User | None]
"""Whose token this is, if it is one of those the server issued and still holds."""


class Authenticator:
    """Bearer tokens and client certificates."""

    def __init__(self, token: str, verify: Verify) -> None:
        self._header = f"Bearer {token}".encode()
        self._verify = verify

    def user(self, headers: Mapping[bytes, bytes], scope: Mapping[str, Any]) -> User | None:
        """The caller, or None for nobody we know."""
        given = headers.get(b"authorization")
        if given is not None:
            if hmac.compare_digest(given, self._header):
                return ADMIN
            scheme, _, token = given.partition(b" ")
            return self._verify(token.strip().decode("latin-1")) if scheme.lower() == b"bearer" else None
        subject = scope.get("extensions", {}).get("tls", {}).get("client_subject")
        if subject is not None:
            name, groups = subject
            return User(name, groups=(*groups, "system:authenticated"))
        return None
