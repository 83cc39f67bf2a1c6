"""Questions about patches."""

from __future__ import annotations

from random import Random
from typing import Any

from rayward.kube.machinery.patch import json_patch, merge_patch, strategic
from rayward.local.apiserver.recorded import specification
from tests.machinery.answers.podlike import strategic_patches
from tests.machinery.answers.question import Object, Question

_KEYS = ["a", "b", "c", "x/y", "m~n", "0", ""]
_SCALARS: list[Any] = [None, True, False, 0, 1, -3, 1.5, "s", "", "é"]
_ODD_POINTERS = ["", "a", "/", "/nope/x", "//", "/a/-1", "/a/+0", "/a/-", "/a/01", "/a/99", "/a/x"]
_OPERATIONS = ["add", "remove", "replace", "move", "copy", "test"]


def questions(random: Random) -> list[Question]:
    documents = [_members(random, 0) or {"a": 1} for _ in range(900)]
    return [
        *(Question("json patch", [doc, _operations(random, doc)]) for doc in documents),
        *(Question("merge patch", [doc, _members(random, 0)]) for doc in documents[:500]),
        *(Question("strategic patch", list(given)) for given in strategic_patches(random, 900)),
    ]


def ours(about: str, given: list[Any]) -> Any:
    match about:
        case "json patch":
            return json_patch.apply(*given)
        case "merge patch":
            return merge_patch.apply(*given)
        case _:
            kind, live, patch = given
            group = "apps" if kind == "Deployment" else "core"
            schema = specification.schema(f"io.k8s.api.{group}.v1.{kind}")
            return strategic.apply(live, patch, schema, specification.schema, kind=kind)


def _value(random: Random, depth: int) -> Any:
    share = random.random()
    if depth > 3 or share < 0.45:
        return random.choice(_SCALARS)
    if share < 0.75:
        return _members(random, depth)
    return [_value(random, depth + 1) for _ in range(random.randint(0, 3))]


def _members(random: Random, depth: int) -> Object:
    return {random.choice(_KEYS): _value(random, depth + 1) for _ in range(random.randint(0, 3))}


def _operations(random: Random, doc: Object) -> list[Object]:
    operations: list[Object] = []
    for _ in range(random.randint(1, 3)):
        operation: Object = {"op": random.choice(_OPERATIONS), "path": _pointer(random, doc)}
        if operation["op"] in ("move", "copy"):
            operation["from"] = _pointer(random, doc)
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = _value(random, 1)
        operations.append(operation)
    return operations


def _pointer(random: Random, doc: Object) -> str:
    if random.random() < 0.1:
        return random.choice(_ODD_POINTERS)
    pointer, value = "", doc
    while isinstance(value, dict | list):
        if isinstance(value, dict):
            step = random.choice([*value, random.choice(_KEYS)])
            value = value.get(step)
        else:
            step = random.choice([str(random.randint(0, len(value))), "-", "-1", "0"])
            value = value[int(step)] if step != "-" and -len(value) <= int(step) < len(value) else None
        pointer += "/" + step.replace("~", "~0").replace("/", "~1")
        if random.random() < 0.4:
            break
    return pointer
