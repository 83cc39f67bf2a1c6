"""Replays recorded scenarios of server-side apply and says how many come out as recorded.

A file holds one scenario a line: a schema in structured-merge-diff's own form, operations, and what Kubernetes' own
algorithm answered to each.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from rayward.kube.machinery.apply.checking import MisfitError, check
from rayward.kube.machinery.apply.fieldset import FieldSet, set_of
from rayward.kube.machinery.apply.fieldsv1 import decoded
from rayward.kube.machinery.apply.reconcile import fitted
from rayward.kube.machinery.apply.types import (
    ATOMIC,
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED,
    Either,
    Field,
    ItemError,
    List,
    Map,
    Type,
)
from rayward.kube.machinery.apply.updater import ConflictError, apply, update
from rayward.kube.machinery.apply.values import same

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCALARS: Final = {"string": STRING, "numeric": NUMERIC, "boolean": BOOLEAN, "untyped": UNTYPED}
_NAMED: Final = {"__untyped_atomic_": ATOMIC, "__untyped_deduced_": DEDUCED}
_EXPLAINED: Final = 5


def main(arguments: list[str]) -> int:
    """Replays the named files; 0 if every scenario came out as recorded."""
    if not arguments:
        sys.stderr.write("usage: python -m rayward.kube.machinery.replay FILE...\n")
        return 2
    passed = failed = 0
    for name in arguments:
        for number, scenario in enumerate(scenarios(Path(name)), 1):
            problem = first_difference(scenario)
            if problem is None:
                passed += 1
                continue
            failed += 1
            if failed <= _EXPLAINED:
                sys.stdout.write(f"{name}:{number}: {problem}\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed or not passed else 0


def scenarios(path: Path) -> Iterator[dict[str, Any]]:
    """The scenarios of a file, plain or compressed."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    for line in data.splitlines():
        if line.strip():
            yield orjson.loads(line)


def first_difference(scenario: dict[str, Any]) -> str | None:
    """Where the scenario comes out other than recorded, in words; None if nowhere."""
    of = type_of(scenario["schema"])
    reset = set_of(*(("f:" + name,) for name in scenario["reset"] or ()))
    live: Any = {}
    owners: dict[str, FieldSet] = {}
    appliers: set[str] = set()
    for number, (step, recorded) in enumerate(zip(scenario["ops"], scenario["results"], strict=True), 1):
        manager, body = step["manager"], step["object"]
        fitting = {name: fitted(fields, of) for name, fields in owners.items()}
        answer: dict[str, Any]
        try:
            if step["op"] == "apply":
                check(body, of)
                after, left = apply(live, body, of, fitting, manager, force=step["force"], reset=reset)
            else:
                check(body, of, allow_duplicates=True)
                after, left = body, update(live, body, of, fitting, manager, reset)
        except ConflictError as conflict:
            answer = {"conflict": conflict.fields}
        except (ItemError, MisfitError):
            answer = {"error": recorded.get("error", "invalid")}
        else:
            live, owners = after, left
            appliers = appliers - {manager} | ({manager} if step["op"] == "apply" else set())
            answer = {
                "live": live or None,
                "managers": {name: {"applied": name in appliers, "set": fields} for name, fields in owners.items()},
            }
        expected = {**recorded, "live": recorded["live"] or None} if "live" in recorded else recorded
        if not same(answer, _canonical(expected)):
            return f"operation {number} ({step['op']} by {manager}): got {_text(answer)}, recorded {_text(expected)}"
    return None


def type_of(schema: dict[str, Any]) -> Type:
    """The type that a schema of structured-merge-diff describes."""
    if "namedType" in schema:
        return _NAMED[schema["namedType"]]
    scalar = _SCALARS[schema["scalar"]] if "scalar" in schema else None
    items = _list_of(schema["list"]) if "list" in schema else None
    fields = _map_of(schema["map"]) if "map" in schema else None
    if scalar and items and fields:
        return Either(scalar, items, fields)
    only = fields or scalar or items
    if only is None:
        raise ValueError(f"a type without shape: {schema}")
    return only


def _list_of(schema: dict[str, Any]) -> List:
    atomic = schema.get("elementRelationship") != "associative"
    return List(type_of(schema["elementType"]), tuple(schema.get("keys") or ()), atomic=atomic)


def _map_of(schema: dict[str, Any]) -> Map:
    declared = schema.get("fields") or ()
    other: dict[str, Any] = schema.get("elementType") or {}
    found = Map(
        {f["name"]: Field("f:" + f["name"], type_of(f["type"]), f.get("default")) for f in declared},
        type_of(other) if other else None,
        atomic=schema.get("elementRelationship") == "atomic",
    )
    found.open = not declared and (found.element is DEDUCED or other.get("scalar") == "untyped")
    return found


def _canonical(recorded: dict[str, Any]) -> dict[str, Any]:
    if "managers" in recorded:
        managers = {name: {**owner, "set": decoded(owner["set"])} for name, owner in recorded["managers"].items()}
        return {**recorded, "managers": managers}
    if "conflict" in recorded:
        return {"conflict": {name: decoded(fields) for name, fields in recorded["conflict"].items()}}
    return recorded


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
