"""Types: which parts of an object are owned on their own, and which only as a whole.

A type is plain data; the walks over values are one module each. Types of named schemas may contain themselves, so a
type is filled in after it was made and is not changed once the first walk has used it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, final

from rayward.kube.machinery.apply import element as elements
from rayward.kube.machinery.apply.values import ABSENT, ARRAY, OBJECT, TEXT
from rayward.kube.machinery.gotext import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

_CACHED: Final = 4096
_CACHED_LENGTH: Final = 256


class ItemError(Exception):
    """A list item that has no key, so that nobody can own it; the text says why."""


@final
class Scalar:
    """A value without parts; ``kind`` is string, numeric, boolean or untyped."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Field(NamedTuple):
    """A declared field: its path element, its type, and the default it counts as having when it is a list key."""

    element: str
    type: Type
    default: Any = None


@final
class Map:
    """An object: declared ``fields``, the type of any other key (None: no other key), owned whole if ``atomic``."""

    __slots__ = ("atomic", "element", "fields", "open", "zero")

    def __init__(
        self, fields: dict[str, Field] | None = None, element: Type | None = None, *, atomic: bool = False
    ) -> None:
        self.fields: dict[str, Field] = fields or {}
        self.element = element
        self.atomic = atomic
        self.open = False
        """Nothing is declared and anything may be in it, so its schema can not have become atomic."""
        self.zero: dict[str, Any] = {}
        """What an object of this type shows before anything is set."""


@final
class List:
    """A list: owned whole if ``atomic``, else a map by ``keys``, or a set of scalars if there are none."""

    __slots__ = ("atomic", "element", "key", "keys")

    def __init__(self, element: Type, keys: tuple[str, ...] = (), *, atomic: bool = False) -> None:
        self.element = element
        self.keys = keys
        self.atomic = atomic
        self.key: Callable[[Any], str] = _set_key() if not keys else _map_key(self)
        """The path element of an item; raises ItemError."""


@final
class Either:
    """A value that may be a scalar, a list or an object; the value says which."""

    __slots__ = ("list", "map", "scalar")

    def __init__(self, scalar: Scalar, list_: List, map_: Map) -> None:
        self.scalar = scalar
        self.list = list_
        self.map = map_

    def of(self, value: Any) -> Scalar | List | Map:
        """The alternative that fits the value; null and nothing count as an object."""
        if type(value) is OBJECT or value is None or value is ABSENT:
            return self.map
        return self.list if type(value) is ARRAY else self.scalar


Type: TypeAlias = "Scalar | Map | List | Either"


def _set_key() -> Callable[[Any], str]:
    known: dict[Any, str] = {}

    def key(item: Any) -> str:
        if type(item) is TEXT:
            return known.get(item) or _remember(known, item, elements.value(item))
        if type(item) is OBJECT:
            raise ItemError("associative list without keys has an element that's a map type")
        if type(item) is ARRAY:
            raise ItemError("not supported: associative list with lists as elements")
        if item is None:
            raise ItemError("associative list without keys has an element that's an explicit null")
        return elements.value(item)

    return key


def _map_key(of: List) -> Callable[[Any], str]:
    names = of.keys
    first = names[0]
    known: dict[Any, str] = {}

    def one(item: Any) -> str:
        if type(item) is OBJECT:
            value = item.get(first, ABSENT)
            if type(value) is TEXT:
                return known.get(value) or _remember(known, value, _key_of(of, item))
        return _key_of(of, item)

    def several(item: Any) -> str:
        if type(item) is OBJECT:
            values = tuple([item.get(name, ABSENT) for name in names])
            # True and 1 are one dictionary key, but two keys of a list.
            if _HASHED.issuperset(map(type, values)):
                return known.get(values) or _remember(known, values, _key_of(of, item))
        return _key_of(of, item)

    return one if len(names) == 1 else several


def _remember(known: dict[Any, str], item: Any, step: str) -> str:
    if len(step) <= _CACHED_LENGTH:
        if len(known) >= _CACHED:
            known.clear()
        known[item] = step
    return step


_HASHED: Final[frozenset[Any]] = frozenset({str, int, type(ABSENT)})


def _key_of(of: List, item: Any) -> str:
    if item is None:
        raise ItemError("associative list with keys may not have a null element")
    if type(item) is not OBJECT:
        raise ItemError("associative list with keys may not have non-map elements")
    found: dict[str, Any] = {}
    for name in of.keys:
        value = item.get(name, ABSENT)
        if value is ABSENT:
            value = _default_of(of, name)
            if value is None:
                continue
        found[name] = value
    if not found:
        names = " ".join(quoted(name) for name in of.keys)
        raise ItemError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return elements.key(found)


def _default_of(of: List, name: str) -> Any:
    inner = of.element.map if isinstance(of.element, Either) else of.element
    if not isinstance(inner, Map):
        raise ItemError(f"couldn't find default value for {name}: associative list may not have non-map types")
    declared = inner.fields.get(name)
    return None if declared is None else declared.default


def _untyped_atomic() -> Either:
    inner_list, inner_map = List(UNTYPED, atomic=True), Map(atomic=True)
    either = Either(UNTYPED, inner_list, inner_map)
    inner_list.element = inner_map.element = either
    return either


def _deduced(atomic: Either) -> Either:
    inner_map = Map()
    inner_map.open = True
    either = Either(UNTYPED, List(atomic, atomic=True), inner_map)
    inner_map.element = either
    return either


STRING: Final = Scalar("string")
NUMERIC: Final = Scalar("numeric")
BOOLEAN: Final = Scalar("boolean")
UNTYPED: Final = Scalar("untyped")

ATOMIC: Final = _untyped_atomic()
"""Anything, owned as a whole."""

DEDUCED: Final = _deduced(ATOMIC)
"""Anything: objects by field, lists as a whole."""
