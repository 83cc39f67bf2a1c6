from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.removal import remove
from tests.machinery.apply.kinds import WIDGET

_SPEC = WIDGET.fields["spec"].type
_X = 'k:{"name":"x"}'


@pytest.mark.parametrize(
    ("value", "gone", "left"),
    [
        pytest.param({"image": "a", "size": 1}, [("f:image",)], {"size": 1}, id="a field"),
        pytest.param({"image": "a"}, [("f:image",)], None, id="the last field leaves null"),
        pytest.param({"image": "a"}, [], {"image": "a"}, id="nothing"),
        pytest.param({"image": "a"}, [("f:other",)], {"image": "a"}, id="what is not there"),
        pytest.param({}, [], None, id="an empty object is null"),
        pytest.param({"image": "a"}, [("f:image", "f:b")], {"image": "a"}, id="below a scalar"),
        pytest.param({"limits": {"a": 1, "b": 2}}, [("f:limits", "f:a")], {"limits": {"b": 2}}, id="a key"),
        pytest.param({"limits": {"a": 1}}, [("f:limits", "f:a")], {"limits": None}, id="the last key"),
        pytest.param({"limits": {"a": 1}}, [("f:limits",), ("f:limits", "f:a")], None, id="a field and all below"),
        pytest.param(
            {"selector": {"a": "1"}}, [("f:selector", "f:a")], {"selector": None}, id="below an atomic object"
        ),
        pytest.param({"args": ["a"]}, [("f:args", "i:0")], {"args": None}, id="below an atomic list"),
        pytest.param({"hosts": ["a", "b", "a"]}, [("f:hosts", 'v:"a"')], {"hosts": ["b"]}, id="an item of a set"),
        pytest.param({"hosts": []}, [("f:hosts", 'v:"a"')], {"hosts": None}, id="an empty set"),
        pytest.param({"hosts": None}, [("f:hosts", 'v:"a"')], {"hosts": None}, id="a null set"),
        pytest.param(
            {"parts": [{"name": "x", "size": 1}]},
            [("f:parts", _X, "f:size")],
            {"parts": [{"name": "x"}]},
            id="a field of an item",
        ),
        pytest.param(
            {"parts": [{"name": "x"}]}, [("f:parts", _X, "f:name")], {"parts": [None]}, id="the last field of an item"
        ),
        pytest.param({"parts": [{"name": "x"}]}, [("f:parts", _X)], {"parts": None}, id="the last item"),
        pytest.param(
            {"parts": [None, {"name": "x"}]}, [("f:parts", _X)], {"parts": [None]}, id="beside an item without a key"
        ),
        pytest.param({"extra": {"a": {"b": 1}}}, [("f:extra", "f:a", "f:b")], {"extra": {"a": None}}, id="in anything"),
        pytest.param({"extra": "x"}, [("f:extra", "f:a")], {"extra": None}, id="in what is no object"),
    ],
)
def test_removal(value: Any, gone: Any, left: Any) -> None:
    before = repr(value)
    assert remove(value, set_of(*gone), _SPEC) == left
    assert repr(value) == before
