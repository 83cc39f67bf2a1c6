"""One finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal["Invalid", "Required", "Forbidden", "Duplicate", "FeatureNotAvailable"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, where, and what to write instead."""

    path: str
    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"
