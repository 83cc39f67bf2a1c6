from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.checking import MisfitError, check
from tests.machinery.apply.kinds import WIDGET

_NO_KEY = (
    'associative list with keys has an element that omits all key fields ["name"]'
    " (and doesn't have default values for any key fields)"
)
_AS_GO = '&value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{"b"}}}'
_TWO = """errors:
  .spec.replicas: expected numeric (int or float), got string
  .spec.parts[name="x"].a: field not declared in schema"""


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"colour": "red"}, ".spec.colour: field not declared in schema", id="unknown field"),
        pytest.param([], ".spec: expected map, got &{[]}", id="list for map"),
        pytest.param({"args": {"a": 1}}, ".spec.args: expected list, got &{map[a:1]}", id="map for list"),
        pytest.param(
            {"replicas": "1"}, ".spec.replicas: expected numeric (int or float), got string", id="text for number"
        ),
        pytest.param(
            {"replicas": True}, ".spec.replicas: expected numeric (int or float), got bool", id="boolean for number"
        ),
        pytest.param({"paused": 1}, ".spec.paused: expected boolean, got &{1}", id="number for boolean"),
        pytest.param(
            {"image": 1}, ".spec.image: expected string, got &value.valueUnstructured{Value:1}", id="number for text"
        ),
        pytest.param({"image": {"a": ["b"]}}, f".spec.image: expected string, got {_AS_GO}", id="map for text"),
        pytest.param(
            {"args": ["a", 1]},
            ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}",
            id="item of an atomic list",
        ),
        pytest.param({"hosts": ["a", "a"]}, '.spec.hosts: duplicate entries for key [="a"]', id="twice in a set"),
        pytest.param(
            {"hosts": [None]},
            ".spec.hosts: element 0: associative list without keys has an element that's an explicit null",
            id="null in a set",
        ),
        pytest.param(
            {"parts": [{"name": "x"}, {"name": "x"}]},
            '.spec.parts: duplicate entries for key [name="x"]',
            id="two items of one key",
        ),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
            id="two items of one key by default",
        ),
        pytest.param({"parts": [{"size": 1}]}, f".spec.parts: element 0: {_NO_KEY}", id="no key"),
        pytest.param(
            {"parts": [{"name": "x", "size": "big"}]},
            '.spec.parts[name="x"].size: expected numeric (int or float), got string',
            id="in an item",
        ),
        pytest.param({"replicas": "1", "parts": [{"name": "x", "a": 1}]}, _TWO, id="two problems"),
    ],
)
def test_what_does_not_fit(spec: Any, message: str) -> None:
    with pytest.raises(MisfitError) as caught:
        check({"spec": spec}, WIDGET)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"image": None, "replicas": None, "paused": None, "parts": None, "limits": None, "hosts": None},
        {"replicas": 1.5, "paused": False, "limits": {"a": "1", "b": 1, "c": True}},
        {"extra": {"a": [1, {"b": None}], "c": {"d": "e"}}},
        {"parts": [{"name": "x"}, {"name": "y"}], "ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}, {}]},
        {"args": ["a", "a", None]},
    ],
)
def test_what_fits(spec: Any) -> None:
    check({"spec": spec}, WIDGET)


def test_an_update_may_hold_duplicates() -> None:
    check({"spec": {"hosts": ["a", "a"], "parts": [{"name": "x"}, {"name": "x"}]}}, WIDGET, allow_duplicates=True)


def test_what_is_no_object_at_all() -> None:
    with pytest.raises(MisfitError, match=r"^expected map, got &\{x\}$"):
        check("x", WIDGET)
