"""Who gets the next connection or request. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def take_turn(weights: Sequence[int], credits_: list[int]) -> int | None:
    """Whose turn it is by weight, spread as evenly as can be; ``credits_`` remembers between calls.

    Everybody earns its weight, the richest is taken and pays what all earned.
    """
    total = 0
    best: int | None = None
    for number, weight in enumerate(weights):
        if weight <= 0:
            continue
        total += weight
        credits_[number] += weight
        if best is None or credits_[number] > credits_[best]:
            best = number
    if best is not None:
        credits_[best] -= total
    return best


def least_busy(busy: Sequence[int | None], start: int) -> int | None:
    """Who has least to do, the first from ``start`` on among equals; None stands for one not to be asked."""
    count = len(busy)
    best: int | None = None
    least = 0
    for step in range(count):
        number = (start + step) % count
        load = busy[number]
        if load is not None and (best is None or load < least):
            best, least = number, load
    return best
