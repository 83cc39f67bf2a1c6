"""A JSON merge patch replaces lists whole: what it would drop, and the patch that drops nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from rayward.changes.compiler import Pointer, pointer
from rayward.changes.outcomes import Invalid
from rayward.changes.refs import Ref
from rayward.kinds.effects.differences import by_name, render
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

_KEYS = ("groupName", "name")


@dataclass(frozen=True, slots=True)
class Loss:
    """What a merge patch would drop.

    Attributes:
        paths: The items and fields that would be gone.
        instead: The JSON patch that makes the same changes and keeps them; empty where a list has no names to go by.
    """

    paths: tuple[str, ...]
    instead: tuple[Object, ...]


def loss_of(live: Object, patch: Object) -> Loss | None:
    """What ``patch`` would drop from the lists of ``live``; None where it drops nothing."""
    lost = tuple(_lost(live, patch, ()))
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
    what = f"the merge patch of {ref} would drop {count} field{'s' if count > 1 else ''} that it does not mention"
    why = "a merge patch replaces a list whole; these would be lost:\n" + "\n".join(loss.paths[:20])
    following = "name every item of the list in full"
    if loss.instead:
        text = orjson.dumps(loss.instead).decode()
        following = f"rayward patch {ref} --type=json -p '{text}'"
    raise Invalid(what, why, following, object=str(ref), field=loss.paths[0])


def _lost(live: Any, patch: Any, at: tuple[str, ...]) -> Iterator[str]:
    if is_object(live) and is_object(patch):
        for name, part in patch.items():
            if live.get(name) is not None and part is not None:
                yield from _lost(live[name], part, (*at, name))
    elif is_list(live) and is_list(patch):
        yield from _lost_items(live, patch, at)


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
        elif is_object(item):
            for field in item:
                if field not in after[name]:
                    yield render((*here, field))
                else:
                    yield from _lost(item[field], after[name][field], (*here, field))


def _operations(live: Any, patch: Any, at: Pointer) -> Iterator[Object | None]:
    """The same changes as operations; None where an item has no name to find it by."""
    if is_object(live) and is_object(patch):
        for name, part in patch.items():
            here = (*at, name)
            if part is None:
                if name in live:
                    yield {"op": "remove", "path": pointer(here)}
            elif (is_object(part) or is_list(part)) and name in live:
                yield from _operations(live[name], part, here)
            elif live.get(name) != part:
                yield {"op": "add", "path": pointer(here), "value": part}
        return
    if not (is_list(live) and is_list(patch)):
        yield {"op": "add", "path": pointer(at), "value": patch}
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
        key = next(key for key in _KEYS if key in item)
        inner = list(_operations(before[name], item, here))
        if inner:
            yield {"op": "test", "path": pointer((*here, key)), "value": name}
            yield from inner
