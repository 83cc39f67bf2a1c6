"""An object that was fine until its schema got stricter, and edits of it."""

from __future__ import annotations

import copy
from typing import Any

_DELETED = "deleted"


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _keyed(**item: Any) -> dict[str, Any]:
    items = {**_object(k=_text(), v=_text(**item)), "required": ["k"]}
    return {
        "type": "array",
        "maxItems": 100,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": items,
    }


LOOSE: dict[str, Any] = _object(
    spec=_object(
        short=_text(),
        enum=_text(),
        least={"type": "integer"},
        object=_object(x=_text(), y=_text()),
        texts={"type": "array", "items": _text()},
        objects={"type": "array", "items": _object(k=_text(), v=_text())},
        keyed=_keyed(),
        map={"type": "object", "additionalProperties": _text()},
        maps={"type": "object", "additionalProperties": _object(x=_text())},
        set={"type": "array", "items": _text()},
        either=_object(x=_text(), y=_text()),
        growing={"type": "integer"},
        settled=_text(),
        ruled=_object(x=_text(), z={"type": "integer"}),
    )
)

TIGHT: dict[str, Any] = {
    **_object(
        spec=_object(
            short=_text(maxLength=2),
            enum=_text(enum=["q"]),
            least={"type": "integer", "minimum": 10},
            object={**_object(x=_text(pattern="^z"), y=_text()), "required": ["y"]},
            texts={"type": "array", "maxItems": 2, "items": _text(minLength=3)},
            objects={
                "type": "array",
                "maxItems": 100,
                "items": {
                    **_object(k=_text(), v=_text(maxLength=1)),
                    "x-kubernetes-validations": [{"rule": "self.k != 'bad'"}],
                },
            },
            keyed=_keyed(
                maxLength=1,
                **{"x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "v is immutable"}]},
            ),
            map={"type": "object", "additionalProperties": _text(maxLength=1)},
            maps={"type": "object", "additionalProperties": _object(x=_text(maxLength=1))},
            set={"type": "array", "x-kubernetes-list-type": "set", "items": _text()},
            either={
                **_object(x=_text(), y=_text()),
                "anyOf": [{"properties": {"x": {"minLength": 3}}}, {"required": ["y"]}],
            },
            growing={
                "type": "integer",
                "x-kubernetes-validations": [
                    {"rule": "self > 10", "message": "too small"},
                    {"rule": "self >= oldSelf"},
                ],
            },
            settled=_text(
                **{
                    "x-kubernetes-validations": [
                        {
                            "rule": "!oldSelf.hasValue() || oldSelf.value() == self",
                            "optionalOldSelf": True,
                            "messageExpression": "'now: ' + self",
                        }
                    ]
                }
            ),
            ruled={
                **_object(x=_text(), z={"type": "integer"}),
                "x-kubernetes-validations": [
                    {"rule": "self.z > 1", "fieldPath": ".z", "reason": "FieldValueForbidden"},
                    {"rule": "has(self.x) || has(oldSelf.x)", "reason": "FieldValueRequired"},
                    {"rule": "self.x.size() > 1"},
                ],
            },
        )
    ),
    "x-kubernetes-validations": [
        {"rule": "self.metadata.name != 'nope'"},
        {"rule": "!has(self.spec.settled) || self.spec.settled != 'root'", "message": "root rule"},
    ],
}

BEFORE: dict[str, Any] = {
    "short": "long",
    "enum": "zz",
    "least": 1,
    "object": {"x": "abc"},
    "texts": ["a", "b", "c"],
    "objects": [{"k": "bad", "v": "long"}, {"k": "b", "v": "ok"}],
    "keyed": [{"k": "a", "v": "long"}, {"k": "b", "v": "l2"}],
    "map": {"a": "long", "b": "x"},
    "maps": {"a": {"x": "long"}},
    "set": ["a", "a"],
    "either": {"x": "1"},
    "growing": 5,
    "settled": "v1",
    "ruled": {"x": "a", "z": 0},
}

_EDITS: dict[str, list[Any]] = {
    "short": ["xx", "other"],
    "enum": ["q", "yy", 1],
    "least": [2, 20],
    "object": [{"x": "abc", "y": "1"}, {"x": "abd"}, {"x": "z"}, {"y": "1"}],
    "texts": [["a", "b"], ["a", "b", "c", "d"], ["aaa"], ["b", "a", "c"], []],
    "objects": [[{"k": "bad", "v": "long"}], [{"k": "b", "v": "ok"}, {"k": "bad", "v": "long"}], [{"k": "c"}]],
    "keyed": [
        [{"k": "b", "v": "l2"}, {"k": "a", "v": "long"}],
        [{"k": "a", "v": "long"}],
        [{"k": "a", "v": "changed"}, {"k": "b", "v": "l2"}],
        [{"k": "a", "v": "long"}, {"k": "c", "v": "new"}],
        [{"k": "a", "v": "x"}],
    ],
    "map": [{"a": "long"}, {"a": "long", "c": "new!"}, {"a": "changed"}],
    "maps": [{"a": {"x": "long"}, "b": {"x": "long"}}, {"a": {"x": "l2"}}],
    "set": [["a", "a", "b"], ["a"], ["b", "b"], ["a", "b"]],
    "either": [{"x": "2"}, {"x": "123"}],
    "growing": [6, 4, 20, "x"],
    "settled": ["v2", "root"],
    "ruled": [{"x": "a", "z": 5}, {"z": 5}, {"x": "aa", "z": 0}, {"x": "aa", "z": 3}],
}


def specs() -> list[dict[str, Any]]:
    """The specs to try: unchanged, one field edited or removed, and some edits together."""
    edits: list[dict[str, Any]] = [{}]
    edits += [{name: value} for name, values in _EDITS.items() for value in values]
    edits += [{name: _DELETED} for name in _EDITS]
    names = list(_EDITS)
    for place in range(60):
        chosen = [names[(place * 5 + step * 3) % len(names)] for step in range(4)]
        edits.append({name: _EDITS[name][place % len(_EDITS[name])] for name in chosen})
    made: list[dict[str, Any]] = []
    for edit in edits:
        spec = copy.deepcopy(BEFORE)
        for name, value in edit.items():
            if value == _DELETED:
                del spec[name]
            else:
                spec[name] = value
        made.append(spec)
    return made
