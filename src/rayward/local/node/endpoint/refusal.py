"""An answer other than the one asked for."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - an answer, not an accident
    """An answer other than the one asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
