"""Edits of a service's cluster spec that a running cluster takes without new pods for the old: sizes and new groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayward.kinds.raycluster import Object
from rayward.kube.machinery.jsonvalue import entries, is_object

_BOUNDS = ("minReplicas", "maxReplicas")


@dataclass(frozen=True, slots=True)
class Resize:
    """The worker groups that the running cluster should have, and the ``replicas`` then given."""

    groups: list[Object]
    given: str


def resize(wanted: Object, running: Object, given: str) -> Resize | None:
    """What to change in the running cluster's spec; None where nothing.

    Bounds follow the user. ``replicas`` follow only where the user changed them since they were last ``given`` and
    the autoscaler does not own them. Groups appended at the end are added.

    Args:
        wanted: ``rayClusterConfig`` of the service.
        running: ``spec`` of the RayCluster, of the same release but for sizes and appended groups.
        given: The replicas last given, as remembered.
    """
    autoscaled = bool(running.get("enableInTreeAutoscaling"))
    before = _given(given)
    now = {str(group.get("groupName")): group.get("replicas") for group in _groups(wanted)}
    current = _groups(running)
    result: list[Object] = []
    for index, group in enumerate(_groups(wanted)):
        if index >= len(current):
            result.append(group)
            continue
        kept = dict(current[index])
        for field in _BOUNDS:
            _follow(kept, group, field)
        name = str(group.get("groupName"))
        if not autoscaled and name in before and before[name] != now[name]:
            _follow(kept, group, "replicas")
        result.append(kept)
    text = replicas_text(wanted)
    return None if result == current and text == given else Resize(result, text)


def replicas_text(wanted: Object) -> str:
    """The replicas that the user's spec gives, to be remembered."""
    given = {str(group.get("groupName")): group.get("replicas") for group in _groups(wanted)}
    return json.dumps(given, sort_keys=True, separators=(",", ":"))


def _follow(kept: Object, group: Mapping[str, Any], field: str) -> None:
    if group.get(field) is None:
        kept.pop(field, None)
    else:
        kept[field] = group[field]


def _given(text: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if is_object(found) else {}


def _groups(spec: Object) -> list[Object]:
    return [group for group in entries(spec, "workerGroupSpecs") if is_object(group)]
