"""Versions of Ray, as far as features depend on them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

Version = tuple[int, int, int]

_written: Final = re.compile(r"\s*v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", re.ASCII).match


@lru_cache(maxsize=256)
def parse(text: str) -> Version | None:
    """``2.60.0``, ``v2.60`` or ``2.60.0rc1`` as numbers; None where it is no version, such as ``nightly``."""
    found = _written(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def at_least(text: str, major: int, minor: int) -> bool:
    """Whether a version is known to be that one or a later one."""
    version = parse(text)
    return version is not None and version >= (major, minor, 0)
