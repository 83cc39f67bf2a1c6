"""Index lists of jobs, such as ``1,3-5,7``."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


class IndexesError(ValueError):
    """The text is no list of indexes."""


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list holds.

    Raises:
        IndexesError: The list is malformed, not increasing, or reaches beyond the completions.
    """
    total, last = 0, -1
    for part in text.split(",") if text else ():
        low, high = _interval(part, completions)
        if last >= low and total:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {low}")
        total += high - low + 1
        last = high
    return total


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both lists; parts that cannot be read are passed over."""
    done, lost = _intervals(completed, completions), _intervals(failed, completions)
    shared = [max(a, c) for a, b in done for c, d in lost if a <= d and c <= b]
    return min(shared, default=None)


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        try:
            found.append(_interval(part, completions))
        except IndexesError:
            continue
    return found


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f'the fragment "{part}" violates the requirement that an index interval can have at most two parts '
            "separated by '-'"
        )
    low = _index(limits[0], completions)
    if len(limits) == 1:
        return low, low
    high = _index(limits[1], completions)
    if low >= high:
        raise IndexesError(f"non-increasing order, previous: {low}, current: {high}")
    return low, high


def _index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return int(text)
