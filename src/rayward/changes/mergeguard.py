"""A JSON merge patch replaces lists whole: what it would drop, and the patch that drops nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from rayward.changes.outcomes import Invalid
from rayward.changes.pointers import NAMES, Pointer, pointer
from rayward.changes.refs import Ref
from rayward.kinds.effects.differences import by_name, render
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object


@dataclass(frozen=True, slots=True)
class Loss:
    """What a merge patch would drop.

    Attributes:
        paths: The items and fields that would be gone.
        instead: The JSON patch that makes the same changes and keeps them; empty where a list has no names to go by, or
            is to go as a whole.
    """

    paths: tuple[str, ...]
    instead: tuple[Object, ...]


def loss_of(live: Object, patch: Object) -> Loss | None:
    """What ``patch`` would drop from the lists of ``live``; None where it drops nothing."""
    lost = tuple(lost_paths(live, patch, ()))
    if not lost:
        return None
    operations = list(_operations(live, patch, ()))
    return Loss(lost, () if None in operations else tuple(one for one in operations if one is not None))


def refuse_loss(ref: Ref, live: Object, patch: Object) -> None:
    """Raise where a merge patch would drop something.

    Raises:
        Invalid: It would; the error has the patch to use instead.
    """
    loss = loss_of(live, patch)
    if loss is None:
        return
    count = len(loss.paths)
    what = f"the merge patch of {ref} would drop {count} part{'s' if count > 1 else ''} of lists"
    why = "a merge patch replaces or deletes a list whole; these would be lost:\n" + "\n".join(loss.paths[:20])
    following = "name every item of the list in full; to delete what is named: --type=json and the operation remove"
    if loss.instead:
        text = orjson.dumps(loss.instead).decode()
        following = f"rayward patch {ref} --type=json -p '{text}'"
    raise Invalid(what, why, following, object=str(ref), field=loss.paths[0])


def lost_paths(live: Any, patch: Any, at: tuple[str, ...]) -> Iterator[str]:
    """What merging ``patch`` into ``live`` would take from its lists, a ``null`` where lists are among it."""
    if is_object(live) and is_object(patch):
        for name, part in patch.items():
            if live.get(name) is not None:
                yield from lost_paths(live[name], part, (*at, name))
    elif is_list(live) and is_list(patch):
        yield from _lost_items(live, patch, at)
    else:
        yield from _items(live, at)


def replaced_paths(live: Any, value: Any, at: tuple[str, ...]) -> Iterator[str]:
    """What putting ``value`` in the place of ``live`` would take: items of lists, and fields that it does not name."""
    if is_object(live) and is_object(value):
        for name, part in live.items():
            here = (*at, name)
            if name in value:
                yield from replaced_paths(part, value[name], here)
            elif part is not None:
                yield render(here)
    elif is_list(live) and is_list(value):
        yield from _lost_items(live, value, at)
    else:
        yield from _items(live, at)


def _items(live: Any, at: tuple[str, ...]) -> Iterator[str]:
    """The items of the lists in a value that is replaced or deleted as a whole."""
    if is_object(live):
        for name, part in live.items():
            yield from _items(part, (*at, name))
    elif is_list(live) and live:
        named = by_name(live)
        yield from (render((*at, f"[{name}]")) for name in named) if named else [render(at)]


def _lost_items(live: list[Any], patch: list[Any], at: tuple[str, ...]) -> Iterator[str]:
    before, after = by_name(live), by_name(patch)
    if before is None or after is None:
        # items without names: only a list that repeats all of them is known to drop none
        if any(item not in patch for item in live):
            yield render(at)
        return
    for name, item in before.items():
        here = (*at, f"[{name}]")
        if name not in after:
            yield render(here)
        else:
            # a list is replaced whole, and so is all that its items hold
            yield from replaced_paths(item, after[name], here)


def _operations(live: Any, patch: Any, at: Pointer) -> Iterator[Object | None]:
    """The same changes as operations; None where an item has no name to find it by."""
    if is_object(live) and is_object(patch):
        for name, part in patch.items():
            here = (*at, name)
            if part is None and not any(_items(live.get(name), here)):
                if name in live:
                    yield {"op": "remove", "path": pointer(here)}
            elif live.get(name) != part:
                yield from _operations(live.get(name), part, here)
        return
    if not (is_list(live) and is_list(patch)):
        # what deletes a list, or puts another thing in its place, cannot be said otherwise
        yield None if any(_items(live, at)) else {"op": "add", "path": pointer(at), "value": patch}
        return
    before, after = by_name(live), by_name(patch)
    if before is None or after is None:
        yield None
        return
    places = {name: index for index, name in enumerate(before)}
    for name, item in after.items():
        if name not in before:
            yield {"op": "add", "path": f"{pointer(at)}/-", "value": item}
            continue
        here = (*at, str(places[name]))
        key = next(key for key in NAMES if key in item)
        inner = list(_operations(before[name], item, here))
        if inner:
            yield {"op": "test", "path": pointer((*here, key)), "value": name}
            yield from inner
