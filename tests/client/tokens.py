"""Credentials that run out, and a server that notices."""

from __future__ import annotations

from collections.abc import Callable

from rayward.kube.client.credentials import Credential
from tests.net.peer import Handler


class RotatingCredentials:
    """Each load gives the next token."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = iter(tokens)
        self._held: Credential | None = None
        self.loads = 0

    def fresh(self) -> Credential | None:
        return self._held

    def load(self) -> Credential:
        self.loads += 1
        self._held = Credential(next(self._tokens))
        return self._held

    def reject(self, used: Credential) -> bool:
        if self._held == used:
            self._held = None
        return True


def demand_token(token: str) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        known = handler.headers.get("Authorization") == f"Bearer {token}"
        handler.reply(200 if known else 401, b"{}")

    return answer
