"""The order of a merged list: the patch's own order for what it names, the live order for the rest."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from rayward.kube.machinery import gotext
from rayward.kube.machinery.jsonvalue import Object, is_object
from rayward.kube.machinery.patch.error import PatchError
from rayward.kube.machinery.patch.gotype import item_type, wrong_type

Identify = Callable[[Any], Hashable]
"""What makes an item of a list the same as another."""


def identify_by(merge_key: str) -> Identify:
    """Items are objects told apart by a member, or scalars told apart by themselves when there is no merge key."""
    if not merge_key:
        return _identity

    def identify(item: Any) -> Hashable:
        if not is_object(item):
            raise wrong_type({}, item)
        return _identity(key_of(item, merge_key))

    return identify


def key_of(item: Object, merge_key: str) -> Any:
    """The value of the merge key.

    Raises:
        PatchError: The item lacks it.
    """
    if merge_key not in item:
        text = f"map: {gotext.plain(item)} does not contain declared merge key: {merge_key}"
        raise PatchError.misfit(text)
    return item[merge_key]


def _identity(value: Any) -> Hashable:
    if isinstance(value, dict | list):
        raise PatchError.misfit(f"{gotext.plain(value)} cannot tell one item of a list from another")
    # Without the type, true would be 1 and 1 would be 1.0.
    return item_type(value), value


def arrange(merged: list[Any], wanted: list[Any], live: list[Any], identify: Identify) -> list[Any]:
    """The merged items: those of ``wanted`` in its order, the others in the order of ``live``, interleaved by it."""
    wanted_at = _positions(wanted, identify)
    live_at = _positions(live, identify)
    named: list[tuple[Hashable, Any]] = []
    others: list[tuple[Hashable, Any]] = []
    for item in merged:
        identity = identify(item)
        (named if identity in wanted_at else others).append((identity, item))
    _sort(named, wanted_at)
    _sort(others, live_at)
    return _interleaved(others, named, live_at)


def _positions(items: list[Any], identify: Identify) -> dict[Hashable, int]:
    positions: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        positions.setdefault(identify(item), index)
    return positions


def _sort(items: list[tuple[Hashable, Any]], positions: dict[Hashable, int]) -> None:
    if all(identity in positions for identity, _ in items):
        items.sort(key=lambda pair: positions[pair[0]])
        return
    # Kubernetes takes an item without a position as smaller than its neighbour, so each goes before the last.
    for end in range(1, len(items)):
        at = end
        while at and _before(items[at][0], items[at - 1][0], positions):
            items[at], items[at - 1] = items[at - 1], items[at]
            at -= 1


def _before(one: Hashable, other: Hashable, positions: dict[Hashable, int]) -> bool:
    return one not in positions or other not in positions or positions[one] < positions[other]


def _interleaved(
    others: list[tuple[Hashable, Any]], named: list[tuple[Hashable, Any]], live_at: dict[Hashable, int]
) -> list[Any]:
    arranged: list[Any] = []
    left = right = 0
    while left < len(others) and right < len(named):
        one, other = live_at.get(others[left][0], -1), live_at.get(named[right][0], -1)
        if 0 <= one < other:
            arranged.append(others[left][1])
            left += 1
        else:
            arranged.append(named[right][1])
            right += 1
    arranged += [item for _, item in others[left:]]
    arranged += [item for _, item in named[right:]]
    return arranged
