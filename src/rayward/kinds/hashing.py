"""What makes two releases the same: a hash over a versioned, canonical projection of a cluster's spec.

Left out is what never asks for other pods than those that run: sizes (the autoscaler writes them), what an admission
queue injects (tolerations, scheduling gates), suspension and the upgrade strategy itself. How a value is written does
not count either: ``null``, an empty map and a default are as good as nothing, ``rayResources`` is ``resources``; but
options that are there and empty still switch something on.

Hashes are stored in annotations and outlive the process: a changed projection is a new version beside the old ones.
Inside pod templates and other built-in structures, v4 counts what the API means (``kinds.canonical``). Older releases
wrote v3, which counts some defaults that servers fill in, v2, which counts also some zeros that typed clients add and
drop, and v1, which counts everything but ``null``. A stored hash is compared with ``is_hash_of``, never with ``==``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, Literal, cast

import msgspec

from rayward.kinds.canonical import LATEST, Reading, canonical, canonical_template
from rayward.kinds.raycluster import HeadGroup, Object, RayClusterSpec, WorkerGroup

Version = Literal["v1", "v2", "v3", "v4"]
VERSION: Final = LATEST

_LEFT_OUT: Final = frozenset(
    ("suspend", "upgradeStrategy", "replicas", "minReplicas", "maxReplicas", "scaleStrategy", "rayResources")
)
_INJECTED: Final = ("tolerations", "schedulingGates")
_DEFAULTS: Final = {"numOfHosts": 1, "priority": 0}
_USER_MAPS: Final = frozenset(("rayStartParams", "labels", "resources", "headServiceAnnotations"))
"""Maps of the spec itself whose keys and values are the user's; ``resources`` are Ray's, which are no quantities."""


def release_hash(spec: RayClusterSpec, groups: int | None = None, version: Version = VERSION) -> str:
    """``v4-`` and 32 hexadecimal digits; equal for specs whose pods are made from the same templates.

    Args:
        spec: The cluster's spec.
        groups: Count only that many worker groups, from the first; so groups appended at the end are told apart from a
            change of those before.
        version: The projection; only comparing with what is stored needs an older one.
    """
    if groups is not None and spec.worker_group_specs:
        spec = msgspec.structs.replace(spec, worker_group_specs=spec.worker_group_specs[:groups])
    projected = _project(spec, _PROJECTIONS[version])
    encoded = msgspec.json.encode(projected, order="deterministic")
    return f"{version}-{hashlib.sha256(encoded).hexdigest()[:32]}"


def hash_version(stored: str) -> Version | None:
    """The version of a stored hash; None for what is no hash of Rayward's, such as KubeRay's."""
    for version in _PROJECTIONS:
        if stored.startswith(f"{version}-"):
            return version
    return None


def is_hash_of(stored: str, spec: RayClusterSpec, groups: int | None = None) -> bool:
    """Whether a stored hash, of whichever version, is the hash of ``spec``; ``groups`` as in ``release_hash``."""
    version = hash_version(stored)
    return version is not None and stored == release_hash(spec, groups, version)


class _Projection(msgspec.Struct, frozen=True):
    value: Callable[[Any, str], Any]
    template: Callable[[Object], Object]
    drops_empty: bool
    """Whether what the projection leaves nothing of counts as nothing."""


def _project(part: msgspec.Struct, how: _Projection) -> Object:
    projected: Object = {}
    for attribute, name in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
        if name in _LEFT_OUT:
            continue
        value = getattr(part, attribute)
        if value is None or value is False or value in ("", {}, []) or _DEFAULTS.get(name) == value:
            continue
        made = _value(value, name, how)
        if not (how.drops_empty and isinstance(value, dict | list) and not made):
            projected[name] = made
    if isinstance(part, HeadGroup | WorkerGroup):
        projected["template"] = how.template(part.template)
        if part.ray_resources and not part.resources:
            projected["resources"] = {name: str(amount) for name, amount in part.ray_resources.items()}
    return projected


def _value(value: Any, name: str, how: _Projection) -> Any:
    if isinstance(value, msgspec.Struct):
        return _project(value, how)
    if isinstance(value, list):
        return [_value(part, name, how) for part in cast("list[Any]", value)]
    return how.value(value, name)


def _value_v1(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _value_v1(part, name) for key, part in cast("Object", value).items() if part is not None}
    if isinstance(value, list):
        return [_value_v1(part, name) for part in cast("list[Any]", value)]
    return value


def _template_v1(template: Object) -> Object:
    spec = template.get("spec")
    if isinstance(spec, dict):
        kept = {name: part for name, part in cast("Object", spec).items() if name not in _INJECTED}
        template = {**template, "spec": kept}
    return _value_v1(template, "")


def _by_meaning(version: Reading) -> _Projection:
    def value_of(value: Any, name: str) -> Any:
        return value if _is_users(value, name) else canonical(value, name, version=version)

    def template_of(template: Object) -> Object:
        return canonical_template(template, without=_INJECTED, version=version)

    return _Projection(value_of, template_of, drops_empty=True)


def _is_users(value: Any, name: str) -> bool:
    return name in _USER_MAPS and isinstance(value, dict) and all(isinstance(part, str) for part in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


_PROJECTIONS: Final[dict[Version, _Projection]] = {
    "v1": _Projection(_value_v1, _template_v1, drops_empty=False),
    "v2": _by_meaning("v2"),
    "v3": _by_meaning("v3"),
    "v4": _by_meaning("v4"),
}
