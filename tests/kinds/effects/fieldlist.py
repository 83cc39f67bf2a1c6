"""Every field above the pod templates, from the definitions, with a value to change it to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rayward.kinds.crds import manifest

Object = dict[str, Any]

_WHOLE: Final = frozenset(
    {"template", "headService", "serveService", "env", "envFrom", "volumeMounts", "resources", "securityContext"}
    | {"ingressRules", "egressRules", "tls", "valueFrom", "serveConfigV2", "serveDeploymentGraphSpec"}
    | {"submitterPodTemplate"}
)
"""Built-in structures: one row for all of each."""


def fields(plural: str) -> dict[str, Any]:
    """Paths below ``spec`` and a sample value of each; of a service without those of its cluster."""
    versions = manifest(plural)["spec"]["versions"]
    schema = next(v for v in versions if v["name"] == "v1")["schema"]["openAPIV3Schema"]
    found = dict(_walk("", schema["properties"]["spec"]))
    return {path: value for path, value in found.items() if not path.startswith("rayClusterConfig")}


def _walk(path: str, node: Object) -> Iterator[tuple[str, Any]]:
    name = path.rpartition(".")[2]
    items = node.get("items", {})
    if name in _WHOLE or not (node.get("properties") or items.get("properties")):
        yield path, _sample(name, node)
        return
    inner, suffix = (node, "") if node.get("properties") else (items, "[]")
    for field, part in inner["properties"].items():
        yield from _walk(f"{path}{suffix}.{field}".lstrip("."), part)


def _sample(name: str, node: Object) -> Any:
    if name in ("serveConfigV2", "serveDeploymentGraphSpec"):
        return {"applications": [{"name": "app", "import_path": "app:model", "route_prefix": "/", "args": {"size": 7}}]}
    if node.get("enum"):
        return node["enum"][-1]
    match node.get("type"):
        case "boolean":
            return True
        case "integer":
            return node.get("minimum", 0) + 3
        case "array":
            return [{"name": "x"}] if node["items"].get("type") == "object" else ["x"]
        case "object":
            return {"metadata": {"labels": {"k": "v"}}} if node.get("properties") else {"k": "v"}
        case _:
            return "x"


def changed(base: Object, path: str, value: Any) -> Object:
    """A copy with the value below ``spec``; ``[]`` is the first item."""
    import copy

    result = copy.deepcopy(base)
    at: Any = result["spec"]
    *parents, last = path.split(".")
    for parent in parents:
        listed = parent.endswith("[]")
        name = parent.removesuffix("[]")
        at = at.setdefault(name, [{"groupName": "small"}] if listed else {})
        at = at[0] if listed else at
    if isinstance(value, dict) and isinstance(at.get(last), dict):
        at[last] = {**at[last], **value}
    else:
        at[last] = value
    return result
