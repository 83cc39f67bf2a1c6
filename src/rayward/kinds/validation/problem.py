"""A mistake in a spec: the field, a reason and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Reason = Literal["Invalid", "Required", "Forbidden", "Duplicate", "FeatureNotAvailable"]

FEATURE_MISSING: Final = "FeatureNotAvailable"
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, where, and what to write instead."""

    path: str
    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def listed(problems: Sequence[Problem]) -> str:
    """The first of them, and how many more there are."""
    shown = "; ".join(map(str, problems[:_SHOWN]))
    more = len(problems) - _SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def only_lacks_features(problems: Sequence[Problem]) -> bool:
    """Whether nothing is wrong with it but that we cannot do it yet."""
    return all(problem.reason == FEATURE_MISSING for problem in problems)
