"""Index lists of jobs, such as ``1,3-5,7``."""

from __future__ import annotations

from rayward.kube.machinery.digits import parse_digits


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
    both = sorted(
        [(*each, 0) for each in _intervals(completed, completions)]
        + [(*each, 1) for each in _intervals(failed, completions)]
    )
    ends = [-1, -1]
    for low, high, which in both:
        # sorted by where they begin: the first that reaches into one of the other list begins at what they share
        if low <= ends[1 - which]:
            return low
        ends[which] = max(ends[which], high)
    return None


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
    index = parse_digits(text.removeprefix("+"))
    if index is None:
        raise IndexesError(f'cannot convert string to integer for index: "{text}"')
    if index >= completions:
        raise IndexesError(f'too large index: "{text}"')
    return index
