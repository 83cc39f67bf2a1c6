"""What is asked: the same questions for the real server and for ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]

_FOLDER = Path(__file__).parent


def _load(name: str) -> Any:
    return yaml.safe_load((_FOLDER / name).read_text())


def definitions() -> list[Schema]:
    """Schemas of CRD versions, good and bad."""
    return _load("definitions.yaml")


def _ruled(properties: dict[str, Any], *rules: dict[str, Any]) -> Schema:
    return {"type": "object", "properties": properties, "x-kubernetes-validations": list(rules)}


def _with_spec(spec: Schema) -> Schema:
    return {"type": "object", "properties": {"spec": spec}}


def expressions() -> tuple[dict[str, Any], list[Schema]]:
    """A spec, and schemas that each show the values of some expressions over it in their rules' messages."""
    loaded = _load("expressions.yaml")
    return loaded["value"], [_with_spec(_ruled(loaded["fields"], _showing(text))) for text in loaded["expressions"]]


def _showing(expression: str) -> dict[str, Any]:
    # The list keeps an error from being folded away, and its size costs next to nothing.
    return {
        "rule": f"size([dyn({expression})]) == 0",
        "messageExpression": f"'%s'.format([dyn({expression})])",
    }


def joined(schemas: list[Schema]) -> Schema:
    """One schema with the rules of several that differ in nothing else."""
    specs = [schema["properties"]["spec"] for schema in schemas]
    rules = [rule for spec in specs for rule in spec["x-kubernetes-validations"]]
    return _with_spec({**specs[0], "x-kubernetes-validations": rules})


def costs() -> list[Schema]:
    """Schemas with one rule each, whose cost depends on what is bounded and how often the rule runs."""
    loaded = _load("costs.yaml")
    made: list[Schema] = []
    for text in loaded["rules"]:
        level = _ruled(loaded["properties"], {"rule": text})
        once = {"type": "array", "items": {**level, "required": ["s", "i", "l"]}}
        bounded = {"type": "array", "items": level, "maxItems": 20}
        every = {"type": "object", "additionalProperties": level}
        made.append(_with_spec(level))
        made += [_with_spec({"type": "object", "properties": {"x": spec}}) for spec in (once, bounded, every)]
    return made
