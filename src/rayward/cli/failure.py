"""How a command fails: an exit code that says what to do next, and three lines for people."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Code(IntEnum):
    NO = 1
    USAGE = 2
    INVALID = 3
    NOT_FOUND = 4
    CONFLICT = 5
    FORBIDDEN = 6
    QUOTA = 7
    FAILED = 8
    ROLLED_BACK = 9
    UNAVAILABLE = 10
    TIMEOUT = 124
    INTERRUPTED = 130


class CommandError(Exception):
    """A command that could not do what it was asked: what happened, why, and what to run next."""

    def __init__(self, code: Code, what: str, why: str = "", following: str = "", *, reason: str = "") -> None:
        super().__init__(what)
        self.code = code
        self.what, self.why, self.following = what, why, following
        self.reason = reason or code.name.title().replace("_", "")
        self.object = self.field = ""

    def document(self) -> dict[str, Any]:
        """The failure for programs."""
        return {
            "apiVersion": "cli.rayward/v1",
            "kind": "Failure",
            "code": int(self.code),
            "reason": self.reason,
            "object": self.object,
            "field": self.field,
            "message": self.what,
            "why": self.why,
            "next": self.following,
        }
