"""What makes two releases the same: a hash over a versioned, canonical projection of a cluster's spec.

Left out is what never asks for other pods than those that run: sizes (the autoscaler writes them), what an admission
queue injects (tolerations, scheduling gates), suspension and the upgrade strategy itself. How a value is written does
not count either: ``null``, an empty map and a default are as good as nothing, ``rayResources`` is ``resources``; but
options that are there and empty still switch something on. Inside pod templates and other built-in structures
everything counts but ``null``.

Hashes are stored in annotations and outlive the process: a changed projection is a new version beside the old one.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, cast

import msgspec

from rayward.kinds.raycluster import HeadGroup, Object, RayClusterSpec, WorkerGroup

VERSION: Final = "v1"

_LEFT_OUT: Final = frozenset(
    ("suspend", "upgradeStrategy", "replicas", "minReplicas", "maxReplicas", "scaleStrategy", "rayResources")
)
_INJECTED: Final = ("tolerations", "schedulingGates")
_DEFAULTS: Final = {"numOfHosts": 1, "priority": 0}


def release_hash(spec: RayClusterSpec, groups: int | None = None) -> str:
    """``v1-`` and 32 hexadecimal digits; equal for specs whose pods are made from the same templates.

    Args:
        spec: The cluster's spec.
        groups: Count only that many worker groups, from the first; so groups appended at the end are told apart from a
            change of those before.
    """
    if groups is not None and spec.worker_group_specs:
        spec = msgspec.structs.replace(spec, worker_group_specs=spec.worker_group_specs[:groups])
    canonical = msgspec.json.encode(_project(spec), order="deterministic")
    return f"{VERSION}-{hashlib.sha256(canonical).hexdigest()[:32]}"


def _project(part: msgspec.Struct) -> Object:
    projected: Object = {}
    for attribute, name in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
        if name in _LEFT_OUT:
            continue
        value = getattr(part, attribute)
        if value is None or value is False or value in ("", {}, []) or _DEFAULTS.get(name) == value:
            continue
        projected[name] = _value(value)
    if isinstance(part, HeadGroup | WorkerGroup):
        projected["template"] = _template(part.template)
        if part.ray_resources and not part.resources:
            projected["resources"] = part.ray_resources
    return projected


def _value(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _project(value)
    if isinstance(value, dict):
        return {name: _value(part) for name, part in cast("Object", value).items() if part is not None}
    if isinstance(value, list):
        return [_value(part) for part in cast("list[Any]", value)]
    return value


def _template(template: Object) -> Object:
    spec = template.get("spec")
    if isinstance(spec, dict):
        kept = {name: part for name, part in cast("Object", spec).items() if name not in _INJECTED}
        template = {**template, "spec": kept}
    return _value(template)
