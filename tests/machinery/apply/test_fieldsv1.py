from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.apply import element
from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.fieldsv1 import MAX_DEPTH, BadFieldsError, decoded

_SCALARS = st.one_of(
    st.text(max_size=5),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
)
_STEPS = st.one_of(
    st.text(max_size=5).map(element.field),
    _SCALARS.map(element.value),
    st.dictionaries(st.text(max_size=3), _SCALARS, min_size=1, max_size=3).map(element.key),
    st.integers(0, 99).map(lambda index: f"i:{index}"),
)
_SETS = st.lists(st.lists(_STEPS, min_size=1, max_size=4).map(tuple), max_size=6).map(lambda some: set_of(*some))


@given(_SETS)
def test_a_set_survives_the_way_through_json(fields: Any) -> None:
    sent = json.loads(json.dumps(fields))
    assert decoded(sent) == fields
    if fields:
        assert decoded(sent) is sent


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, {}),
        ({}, {}),
        ({".": {}}, {}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {".": {"f:x": {}}, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"f:a": {"r:x": {}}, "z:y": {"f:z": {}}}, {"f:a": {}}),
        ({'k:{"b":1.0,"a":2}': {"v:1.0": {}}, "f:c": {}}, {'k:{"a":2,"b":1}': {"v:1": {}}, "f:c": {}}),
    ],
)
def test_reading(sent: Any, expected: Any) -> None:
    before = json.dumps(sent)
    assert decoded(sent) == expected
    assert json.dumps(sent) == before


@pytest.mark.parametrize(
    "sent", [[], "x", 1, {"f:a": None}, {"f:a": []}, {"f:a": {"f:b": 1}}, {"x": {}}, {"k:[": {}}, {"f:a": {"v:": {}}}]
)
def test_what_can_not_be_read(sent: Any) -> None:
    with pytest.raises(BadFieldsError):
        decoded(sent)


def test_depth_is_limited() -> None:
    sent: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 2):
        sent = {"f:a": sent}
    with pytest.raises(BadFieldsError):
        decoded(sent)
