"""Which revisions of an object were pruned: written down as ranges, so that a history tells them from what nobody saw.

The newest revision, which is never pruned, carries all of them; so does each that was the newest once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object, section

PRUNED: Final = labels.PRUNED
_MOST: Final = 100
"""Ranges: what was pruned long before is forgotten before an annotation grows without end."""
_ranges: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?").findall


def pruned(found: Iterable[Object]) -> list[tuple[int, int]]:
    """The ranges that the revisions of an object name, in order and joined."""
    known: list[tuple[int, int]] = []
    for item in found:
        annotations: Any = section(section(item, "metadata"), "annotations")
        for first, last in _ranges(str(annotations.get(PRUNED) or "")):
            known.append((int(first), int(last or first)))
    return _joined(known)


def with_pruned(found: Iterable[Object], names: Iterable[str]) -> str:
    """The ranges with the revisions of these names, as the annotation has them."""
    numbers = [int(number) for name in names if (number := name.rpartition("-")[2]).isdecimal()]
    joined = _joined([*pruned(found), *((number, number) for number in numbers)])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in joined[-_MOST:])


def split(first: int, last: int, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    """Missing revisions as runs, each with whether it was pruned."""
    runs: list[tuple[int, int, bool]] = []
    at = first
    for begin, end in ranges:
        begin, end = max(begin, at), min(end, last)
        if begin > end:
            continue
        if at < begin:
            runs.append((at, begin - 1, False))
        runs.append((begin, end, True))
        at = end + 1
    if at <= last:
        runs.append((at, last, False))
    return runs


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
