"""Random Widgets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_NAMES = st.sampled_from(["x", "y", "z"])
_ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 1), st.sampled_from([1.0, 1.5]), _NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_NAMES, inner, max_size=2)),
    max_leaves=4,
)


def _optional(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: st.one_of(st.none(), each) for name, each in fields.items()})


def _keyed(item: st.SearchStrategy[dict[str, Any]], name: str, *, unique: bool) -> st.SearchStrategy[list[Any]]:
    named = st.tuples(_NAMES if name == "name" else st.integers(1, 3), item).map(
        lambda pair: {**pair[1], name: pair[0]}
    )
    return st.lists(named, max_size=3, unique_by=(lambda each: each[name]) if unique else None)


def _specs(*, unique: bool) -> st.SearchStrategy[dict[str, Any]]:
    ports = _keyed(_optional({"name": _NAMES}), "port", unique=unique)
    part = _optional({"image": _NAMES, "size": st.integers(0, 1), "ports": ports})
    return _optional(
        {
            "replicas": st.integers(0, 2),
            "paused": st.booleans(),
            "limits": st.dictionaries(_NAMES, st.one_of(st.integers(0, 1), st.booleans(), _NAMES), max_size=2),
            "selector": st.dictionaries(_NAMES, _NAMES, max_size=2),
            "args": st.lists(_NAMES, max_size=2),
            "hosts": st.lists(_NAMES, max_size=3, unique=unique),
            "parts": _keyed(part, "name", unique=unique),
            "ports": ports,
            "extra": st.dictionaries(_NAMES, _ANYTHING, max_size=2),
        }
    )


CONFIGS = _optional({"spec": _specs(unique=True), "status": _optional({"ready": st.integers(0, 1)})})
"""What may be applied."""

FULL_CONFIGS = CONFIGS.map(lambda config: _full(config) or {})
"""What may be applied, without null and empty values: those are not sure to stay what they are."""


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: inner for name, each in value.items() if (inner := _full(each)) is not None} or None
    if isinstance(value, list):
        return [inner for each in value if (inner := _full(each)) is not None] or None
    return value


OBJECTS = _optional({"spec": _specs(unique=False), "status": _optional({"ready": st.integers(0, 1)})})
"""What an update may store: items may repeat."""

MANAGERS = st.sampled_from(["a", "b", "c"])
