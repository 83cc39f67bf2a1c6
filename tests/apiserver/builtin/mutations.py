"""Objects in which something is replaced by something else: what a careless or hostile writer may send."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]

_TEXTS = st.sampled_from(["", "x", "a b", "1", "-1", "100%", "0.5", "1Gi", "a/b", "*", "None", "10.0.0.1", "é"])
_NUMBERS = st.sampled_from([-1, 0, 1, 2, 70000, 2**31]) | st.integers()
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | _NUMBERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=5,
)


def _alike(value: Any) -> st.SearchStrategy[Any]:
    """Values that are read where this one is."""
    match value:
        case bool():
            return st.booleans()
        case int():
            return _NUMBERS
        case str():
            return _TEXTS
        case list():
            return st.sampled_from([[], [*value, *value], value[:1]])
        case _:
            return st.just({})


def _places(value: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found += [[key], *([key, *rest] for rest in _places(inner))]
    return found


@st.composite
def mutated(draw: st.DrawFn, obj: Object) -> Object:
    """The object with one to three of its values replaced or gone."""
    obj = copy.deepcopy(obj)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(_places(obj)))
        holder: Any = obj
        for key in way:
            holder = holder[key]
        step = draw(st.sampled_from(["alike", "alike", "alike", "gone", "other"]))
        if step == "alike":
            holder[last] = draw(_alike(holder[last]))
        elif step == "other":
            holder[last] = draw(_JSON)
        elif isinstance(holder, dict):
            del holder[last]
    return obj
