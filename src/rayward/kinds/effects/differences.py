"""The fields in which two versions of an object differ, with list items found by their names.

``null`` is as good as absent. Everything else that is written differently is a difference; ``same_meaning`` tells
those apart that Kubernetes reads alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import is_list, is_object

_KEYS: Final = ("groupName", "name")
_is_plain: Final = str.maketrans("", "", "-_")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ.

    Attributes:
        segments: The way to it: field names, and ``[name]`` for an item of a list.
        old: The value before; None where there is none.
        new: The value after; None where there is none.
        reordered: The items of a list are the same and come in another order; the values are the orders.
    """

    segments: tuple[str, ...]
    old: Any
    new: Any
    reordered: bool = False

    @property
    def path(self) -> str:
        """For a reader: ``spec.workerGroupSpecs[gpu].replicas``."""
        return render(self.segments)

    @property
    def pattern(self) -> str:
        """The same without names of items: ``spec.workerGroupSpecs[].replicas``."""
        return "".join("[]" if part.startswith("[") else f".{part}" for part in self.segments).lstrip(".")


def render(segments: tuple[str, ...]) -> str:
    """A path from its parts; a field name with dots or slashes in it is put in brackets."""
    text = ""
    for part in segments:
        if part.startswith("["):
            text += part
        elif part.translate(_is_plain).isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def differences(old: Any, new: Any, at: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every difference, depth first, in the order of field names."""
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return
    if is_object(old) and is_object(new):
        for name in sorted(old.keys() | new.keys()):
            yield from differences(old.get(name), new.get(name), (*at, name))
    elif (is_list(old) or old is None) and (is_list(new) or new is None):
        yield from _of_lists(old, new, at)
    elif old is None and is_object(new) and new:
        for name in sorted(new):
            yield from differences(None, new[name], (*at, name))
    elif new is None and is_object(old) and old:
        for name in sorted(old):
            yield from differences(old[name], None, (*at, name))
    else:
        yield Difference(at, old, new)


def same_meaning(old: Any, new: Any) -> bool:
    """Whether two values say the same: one amount in two spellings, or nothing in two spellings."""
    if old == new or (_is_nothing(old) and _is_nothing(new)):
        return True
    if isinstance(old, bool) or isinstance(new, bool) or not _is_amount(old) or not _is_amount(new):
        return False
    try:
        return quantity.parse(old) == quantity.parse(new)
    except quantity.QuantityError:
        return False


def by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items of a list by their names; None unless each has one of its own."""
    for key in _KEYS:
        named = {item[key]: item for item in items if is_object(item) and isinstance(item.get(key), str)}
        if len(named) == len(items):
            return named
    return None


def _of_lists(old: list[Any] | None, new: list[Any] | None, at: tuple[str, ...]) -> Iterator[Difference]:
    before, after = by_name(old or []), by_name(new or [])
    if before is None or after is None or not (before or after):
        yield Difference(at, old, new)
        return
    if (order := [name for name in before if name in after]) != (now := [name for name in after if name in before]):
        yield Difference(at, order, now, reordered=True)
    for name in {**before, **after}:
        here = (*at, f"[{name}]")
        if name in before and name in after:
            yield from differences(before[name], after[name], here)
        else:
            yield Difference(here, before.get(name), after.get(name))


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", {}, [])


def _is_amount(value: Any) -> bool:
    return isinstance(value, str | int | float)
