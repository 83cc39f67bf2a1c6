"""Whole numbers in texts that others wrote.

Python refuses to read more than 4,300 digits, and takes time that grows with their square before that; Go says
"value out of range". Who reads a number from an input therefore says how large it may be.
"""

from __future__ import annotations

from typing import Final

MAX_INT64: Final = 2**63 - 1
MAX_UINT64: Final = 2**64 - 1


def parse_digits(text: str, most: int = MAX_INT64) -> int | None:
    """The number that decimal digits stand for; None for other characters, no digits, or a number above ``most``."""
    if not (text.isascii() and text.isdigit()):
        return None
    kept = text.lstrip("0") or "0"
    if len(kept) > len(str(most)):
        return None
    number = int(kept)
    return number if number <= most else None
