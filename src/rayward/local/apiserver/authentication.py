"""Who talks to the server: holders of a certificate it signed, of one of its tokens, or of a token it issued."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from rayward.local.apiserver.identity import ADMIN, User

Verify = Callable[[str], User | None]
"""Whose token this is, if it is one of those the server issued and still holds."""


def shown_token(headers: Mapping[bytes, bytes]) -> bytes:
    """The token that a request shows; empty if it shows none."""
    scheme, _, token = headers.get(b"authorization", b"").strip().partition(b" ")
    return token if scheme.lower() == b"bearer" else b""


class Authenticator:
    """Client certificates, then bearer tokens, as kube-apiserver asks for them."""

    def __init__(self, token: str, parts: Mapping[str, User], verify: Verify) -> None:
        self._token = token.encode()
        # found by digest, so that how long a look-up takes says nothing of a token
        self._parts = {_digest(known.encode()): user for known, user in parts.items()}
        self._verify = verify

    def user(self, headers: Mapping[bytes, bytes], scope: Mapping[str, Any]) -> User | None:
        """The caller, or None for nobody we know."""
        subject = scope.get("extensions", {}).get("tls", {}).get("client_subject")
        if subject is not None:
            name, groups = subject
            return User(name, groups=(*groups, "system:authenticated"))
        token = shown_token(headers)
        if not token:
            return None
        return self.of_token(token)

    def of_token(self, token: bytes) -> User | None:
        """Whose token it is, if it is one of the administrator's, of a part of the stack, or of a service account."""
        if hmac.compare_digest(token, self._token):
            return ADMIN
        # a token that was issued is a signed text with dots
        return self._verify(token.decode("latin-1")) if b"." in token else self._parts.get(_digest(token))


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
