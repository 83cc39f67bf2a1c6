"""Lists of completion indexes, such as ``1,3-5,7``."""

from __future__ import annotations

from collections.abc import Iterable

from rayward.local.controllers.jobs.job import INDEX
from rayward.local.controllers.pods import SeenPod


def index_of(pod: SeenPod, completions: int) -> int | None:
    """The index of a pod; None if it has none that counts."""
    text = pod.metadata.annotation(INDEX)
    if not (text.isascii() and text.isdigit()):
        return None
    return index if (index := int(text)) < completions else None


def parse(text: str, completions: int) -> set[int]:
    """The indexes in a list, below ``completions``; what cannot be read is passed over."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        low, _, high = part.partition("-")
        if low.isdigit() and (high.isdigit() or not high):
            found.update(range(int(low), min(int(high or low), completions - 1) + 1))
    return found


def render(indexes: Iterable[int]) -> str:
    """The list, with runs of three and more as one part."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    parts: list[str] = []
    for first, last in runs:
        joint = "-" if last > first + 1 else ","
        parts.append(str(first) if first == last else f"{first}{joint}{last}")
    return ",".join(parts)
