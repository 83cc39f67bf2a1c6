"""Edits of a service's cluster spec that a running cluster takes as it is: sizes, and groups added at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rayward.kinds.raycluster import Object, RayClusterSpec, WorkerGroup
from rayward.operator.service.memory import REPLICAS

_GIVEN = "/metadata/annotations/" + REPLICAS.replace("/", "~1")


def resize(wanted: RayClusterSpec, whole: Sequence[Object], running: RayClusterSpec, given: str) -> list[Object]:
    """The JSON patch that brings the running cluster to the sizes asked for; empty where nothing is to change.

    Bounds follow the user. ``replicas`` follow only where the user changed them since they were last ``given`` and
    the autoscaler does not own them. A group is found by its place and must have the name expected there, or the
    server refuses the whole patch.

    Args:
        wanted: ``rayClusterConfig`` of the service.
        whole: Its worker groups as the user wrote them.
        running: ``spec`` of the RayCluster, of the same release but for sizes and groups added at the end.
        given: The replicas last given to it, as remembered.
    """
    autoscaled = bool(running.enable_in_tree_autoscaling)
    before, after = _read(given), _replicas(wanted)
    current = running.worker_group_specs or []
    operations: list[Object] = []
    if running.worker_group_specs is None and whole:
        operations.append({"op": "add", "path": "/spec/workerGroupSpecs", "value": []})
    for index, group in enumerate(wanted.worker_group_specs or []):
        if index >= len(current):
            operations.append({"op": "add", "path": "/spec/workerGroupSpecs/-", "value": whole[index]})
            continue
        name = group.group_name
        follows = not autoscaled and name in before and before[name] != after[name]
        changes = _changes(f"/spec/workerGroupSpecs/{index}", group, current[index], replicas=follows)
        if changes:
            operations.append({"op": "test", "path": f"/spec/workerGroupSpecs/{index}/groupName", "value": name})
            operations += changes
    if operations or before != after:
        operations.append({"op": "add", "path": _GIVEN, "value": replicas_text(wanted)})
    return operations


def replicas_text(wanted: RayClusterSpec) -> str:
    """The replicas that the user's spec gives, to be remembered."""
    return msgspec.json.encode(_replicas(wanted), order="deterministic").decode()


def _replicas(spec: RayClusterSpec) -> dict[str, int | None]:
    return {group.group_name: group.replicas for group in spec.worker_group_specs or ()}


def _changes(path: str, wanted: WorkerGroup, running: WorkerGroup, *, replicas: bool) -> list[Object]:
    pairs = [
        ("minReplicas", wanted.min_replicas, running.min_replicas),
        ("maxReplicas", wanted.max_replicas, running.max_replicas),
    ]
    if replicas:
        pairs.append(("replicas", wanted.replicas, running.replicas))
    return [_set(f"{path}/{field}", new) for field, new, old in pairs if new != old]


def _set(path: str, value: Any) -> Object:
    return {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}


def _read(text: str) -> dict[str, int | None]:
    try:
        return msgspec.json.decode(text, type=dict[str, int | None]) if text else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
