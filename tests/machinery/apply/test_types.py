from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.types import ATOMIC, DEDUCED, NUMERIC, STRING, Either, Field, ItemError, List, Map
from rayward.kube.machinery.apply.values import ABSENT

_ITEM = Map({"name": Field("f:name", STRING), "port": Field("f:port", NUMERIC, 80)})
_BY_NAME = List(Map({"name": Field("f:name", STRING)}), ("name",))
_BY_BOTH = List(_ITEM, ("port", "name"))
_SET = List(STRING)
_NO_KEY = (
    'associative list with keys has an element that omits all key fields ["name"]'
    " (and doesn't have default values for any key fields)"
)


@pytest.mark.parametrize(
    ("of", "item", "step"),
    [
        (_BY_NAME, {"name": "x", "more": 1}, 'k:{"name":"x"}'),
        (_BY_NAME, {"name": ""}, 'k:{"name":""}'),
        (_BY_NAME, {"name": None}, 'k:{"name":null}'),
        (_BY_NAME, {"name": 1.0}, 'k:{"name":1}'),
        (_BY_NAME, {"name": True}, 'k:{"name":true}'),
        (_BY_NAME, {"name": ["a"]}, 'k:{"name":["a"]}'),
        (_BY_BOTH, {"name": "x", "port": 1}, 'k:{"name":"x","port":1}'),
        (_BY_BOTH, {"name": "x", "port": 1.0}, 'k:{"name":"x","port":1}'),
        (_BY_BOTH, {"name": "x", "port": True}, 'k:{"name":"x","port":true}'),
        (_BY_BOTH, {"name": "x"}, 'k:{"name":"x","port":80}'),
        (_BY_BOTH, {"port": 80}, 'k:{"port":80}'),
        (_BY_BOTH, {}, 'k:{"port":80}'),
        (_BY_BOTH, {"name": {}, "port": 1}, 'k:{"name":{},"port":1}'),
        (_SET, "x", 'v:"x"'),
        (_SET, 1, "v:1"),
        (_SET, True, "v:true"),
        (List(DEDUCED, ("id",)), {"id": "x"}, 'k:{"id":"x"}'),
    ],
)
def test_the_key_of_an_item(of: List, item: Any, step: str) -> None:
    assert of.key(item) == step
    assert of.key(item) == step


@pytest.mark.parametrize(
    ("of", "item", "message"),
    [
        (_BY_NAME, None, "associative list with keys may not have a null element"),
        (_BY_NAME, "x", "associative list with keys may not have non-map elements"),
        (_BY_NAME, {}, _NO_KEY),
        (
            List(STRING, ("a", "b")),
            {},
            "couldn't find default value for a: associative list may not have non-map types",
        ),
        (_SET, None, "associative list without keys has an element that's an explicit null"),
        (_SET, {}, "associative list without keys has an element that's a map type"),
        (_SET, [], "not supported: associative list with lists as elements"),
    ],
)
def test_items_without_a_key(of: List, item: Any, message: str) -> None:
    with pytest.raises(ItemError) as caught:
        of.key(item)
    assert str(caught.value) == message


@pytest.mark.parametrize("of", [_BY_NAME, _BY_BOTH, _SET], ids=["by name", "by both", "set"])
def test_so_many_keys_that_not_all_are_remembered(of: List) -> None:
    for number in range(10_000):
        name = f"n{number}"
        item = name if of is _SET else {"name": name, "port": 1}
        assert f'"{name}"' in of.key(item)


@pytest.mark.parametrize("either", [ATOMIC, DEDUCED])
def test_the_value_decides_between_shapes(either: Either) -> None:
    assert either.of({}) is either.of(None) is either.of(ABSENT) is either.map
    assert either.of([]) is either.list
    assert either.of("") is either.of(0) is either.of(False) is either.scalar
