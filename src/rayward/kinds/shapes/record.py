"""The record a pod carries of what it was made from, and what has changed since.

The live pod cannot tell: webhooks and defaults changed it the moment it was created.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from rayward.kinds import labels
from rayward.kinds.canonical import LATEST, Reading, canonical, canonical_template
from rayward.kinds.raycluster import HeadGroup, RayCluster, WorkerGroup
from rayward.kinds.shapes import features
from rayward.kinds.shapes.metadata import Object
from rayward.kube.machinery import quantity

# All annotations of an object together may hold 256 KiB, and others need room too.
_MAX_RECORD: Final = 96 * 1024
_MAX_TEXT: Final = 8 * 1024 * 1024
_COMPRESS_FROM: Final = 512
_COMPRESSED: Final = "zlib:"
_DIGEST: Final = "sha256:"
_UNKNOWN: Final = "unknown:"
_READINGS: Final = ("v3", "v4")
"""In the order in which digests have them; a new one comes last."""
_MAX_PATHS: Final = 50
_RECORD_PATH: Final = f"metadata.annotations[{labels.TEMPLATE}]"
_TEMPLATE: Final = "template"
_UNKNOWN_PATH: Final = "template (another operator made them: in which fields is not known)"

_encoder: Final = msgspec.json.Encoder(order="deterministic")


def template_record(group: HeadGroup | WorkerGroup, cluster: RayCluster) -> str:
    """Everything of the user's that decides how a pod of ``group`` looks, as one line of text."""
    plain = _encoder.encode(_inputs(group, cluster))
    if len(plain) < _COMPRESS_FROM:
        return plain.decode()
    packed = _COMPRESSED + base64.b64encode(zlib.compress(plain, 6)).decode()
    return packed if len(packed) <= _MAX_RECORD else _digests(plain)


def unknown_template(current: str) -> str:
    """The record of a pod of another operator that was made before the spec became ``current``."""
    return f"{_UNKNOWN}{current}"


def is_outdated(record: str, current: str) -> bool:
    """Whether the template was changed since the record was written: only then a pod may be replaced for it."""
    return bool(drift(record.removeprefix(_UNKNOWN), current))


def drift(record: str, current: str) -> list[str]:
    """The paths of the fields in which ``current`` differs from what a pod was made from.

    An empty record says nothing, so nothing is known to differ. One that cannot be read is itself what differs.
    """
    if record.startswith(_UNKNOWN):
        return [_UNKNOWN_PATH]
    if not record or record == current:
        return []
    if _DIGEST in (record[:7], current[:7]):
        return [] if _same_digest(record, current) else [_TEMPLATE]
    before, now = _read(record), _read(current)
    if before is None or now is None:
        return [_RECORD_PATH]
    paths: list[str] = []
    for path in _differences(_meaning(before), _meaning(now), ""):
        paths.append(path)
        if len(paths) == _MAX_PATHS:
            break
    return paths


def _digests(plain: bytes) -> str:
    """Digests of the template as it is written, and as it is meant: older releases recorded the first ones only."""
    inputs = msgspec.json.decode(plain)
    meant = (_encoder.encode(_meaning(inputs, version)) for version in _READINGS)
    return _DIGEST + ":".join(hashlib.sha256(text).hexdigest() for text in (plain, *meant))


def _same_digest(record: str, current: str) -> bool:
    if not (record.startswith(_DIGEST) and current.startswith(_DIGEST)):
        return False
    digests = (text.removeprefix(_DIGEST).split(":") for text in (record, current))
    return any(one == other for one, other in zip(*digests, strict=False))


def _meaning(inputs: Object, version: Reading = LATEST) -> Object:
    """The inputs in the one form that equal ones have, however they are written."""
    found: Object = {
        # Ray's own resources are no quantities of Kubernetes.
        name: value if name == "resources" else canonical(value, name, version=version)
        for name, value in inputs.items()
        if name != _TEMPLATE
    }
    template = inputs.get(_TEMPLATE)
    if isinstance(template, dict):
        found[_TEMPLATE] = canonical_template(cast("Object", template), version=version)
    return found


def _inputs(group: HeadGroup | WorkerGroup, cluster: RayCluster) -> Object:
    spec = cluster.spec
    inputs: Object = {
        _TEMPLATE: group.template,
        "rayStartParams": group.ray_start_params,
        "resources": features.resources_of_group(group),
        "labels": group.labels,
        "rayVersion": spec.ray_version,
        "authOptions": spec.auth_options,
        "overwriteContainerCmd": features.overwrites_command(cluster),
        "enableInTreeAutoscaling": features.autoscaling(cluster),
        "gcsFaultTolerance": features.fault_tolerant(cluster),
    }
    if isinstance(group, HeadGroup):
        # The autoscaler reads its pace from the cluster itself; only what its container is made of is the pod's.
        inputs["gcsFaultToleranceOptions"] = spec.gcs_fault_tolerance_options
        inputs["autoscalerOptions"] = _container_options(cluster)
    else:
        inputs["head"] = f"{features.head_address(cluster)}:{features.head_port(cluster)}"
        inputs["autoscalerVersion"] = features.autoscaler_version(cluster)
    return {name: value for name, value in inputs.items() if value}


def _container_options(cluster: RayCluster) -> Any:
    options = cluster.spec.autoscaler_options
    if options is None or not features.autoscaling(cluster):
        return None
    return msgspec.structs.replace(options, idle_timeout_seconds=None, upscaling_mode=None)


def _read(record: str) -> Object | None:
    try:
        if record.startswith(_COMPRESSED):
            packed = base64.b64decode(record.removeprefix(_COMPRESSED), validate=True)
            unpacking = zlib.decompressobj()
            plain = unpacking.decompress(packed, _MAX_TEXT)
            if not unpacking.eof:
                return None
        else:
            plain = record.encode()
        read = msgspec.json.decode(plain)
    except (binascii.Error, zlib.error, msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None  # pyright: ignore[reportUnknownVariableType]


def _differences(before: Any, now: Any, path: str) -> Iterator[str]:
    if before == now or (_is_nothing(before) and _is_nothing(now)):
        return
    if isinstance(before, dict | None) and isinstance(now, dict | None):
        yield from _map_differences(before or {}, now or {}, path)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(before, list | None) and isinstance(now, list | None):
        yield from _list_differences(before or [], now or [], path)  # pyright: ignore[reportUnknownArgumentType]
    elif not _same_amount(before, now):
        yield path


def _map_differences(before: Object, now: Object, path: str) -> Iterator[str]:
    for name in sorted(before.keys() | now.keys()):
        yield from _differences(before.get(name), now.get(name), _below(path, name))


def _list_differences(before: list[Any], now: list[Any], path: str) -> Iterator[str]:
    old, new = _by_name(before), _by_name(now)
    if old is None or new is None:
        yield path
        return
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield path
        return
    for name in {**old, **new}:
        if name in old and name in new:
            yield from _differences(old[name], new[name], f"{path}[{name}]")
        else:
            yield f"{path}[{name}]"


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """The items by their names, if each has one of its own."""
    named: dict[str, Any] = {}
    for item in items:
        name = _name_of(item)
        if not isinstance(name, str) or name in named:
            return None
        named[name] = item
    return named


def _name_of(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _below(path: str, name: str) -> str:
    if not path and name == _TEMPLATE:
        return ""
    if not name.replace("-", "").replace("_", "").isalnum():
        name = f"[{name}]"
        return f"{path}{name}"
    return f"{path}.{name}" if path else name


def _is_nothing(value: Any) -> bool:
    return value is None or value == {} or value == []


def _same_amount(before: Any, now: Any) -> bool:
    """Whether two values are one amount written in two ways, such as ``1`` and ``1000m``."""
    if isinstance(before, bool) or isinstance(now, bool):
        return False
    try:
        return quantity.parse(before) == quantity.parse(now)
    except quantity.QuantityError:
        return False
