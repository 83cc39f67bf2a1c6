"""The user behind a request, as reviews and admission show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

ANONYMOUS: Final = "system:anonymous"
EVERYBODY: Final = "system:authenticated"
NOBODY: Final = "system:unauthenticated"
PART: Final = "rayward:"
"""How the names of the stack's own parts begin."""


@dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def info(self) -> dict[str, object]:
        """The caller as a ``userInfo`` of reviews and admission requests."""
        info: dict[str, object] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ADMIN = User("kubernetes-admin", groups=("system:masters", "system:authenticated"))
NODE = User(f"{PART}node", groups=(EVERYBODY,))
