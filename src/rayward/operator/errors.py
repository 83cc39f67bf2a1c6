"""Why the operator does not start."""

from __future__ import annotations


class OperatorError(Exception):
    """What happened, why, and what to run next."""

    def __init__(self, what: str, why: str, following: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.following = what, why, following
