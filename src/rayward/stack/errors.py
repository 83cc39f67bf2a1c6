"""What can go wrong with a stack."""

from __future__ import annotations


class StackError(Exception):
    """The stack could not be brought where it should be: what happened, why, and what to run next."""

    def __init__(self, what: str, why: str, following: str) -> None:
        super().__init__(what)
        self.what, self.why, self.following = what, why, following
