"""Which sizes the RayCluster of a RayService has after an edit: it has its own, which the spec does not show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.kinds.effects import Effect, Effects, Rules
from rayward.kube.machinery.jsonvalue import Object, entries, section

_CONFIG: Final = "rayClusterConfig"
_GROUPS: Final = "workerGroupSpecs"
_REPLICAS: Final = "replicas"
_BOUNDS: Final = ("minReplicas", "maxReplicas")


def with_config(service: Object, config: Object) -> Object:
    """A RayService whose cluster spec is another one."""
    return {**service, "spec": {**section(service, "spec"), _CONFIG: config}}


def at_rest(found: Effects, rules: Rules, live: Object, wanted: Object, running: Object) -> Object:
    """The RayService with the cluster spec that its pods have once an edit is made.

    Args:
        found: What the edit does.
        rules: Whose operator acts.
        live: The RayService as it is.
        wanted: It as it would be.
        running: The spec of the RayCluster that serves.
    """
    if any(effect in found for effect in (Effect.NEW_CLUSTER, Effect.RESUME, Effect.SUSPEND)):
        return wanted
    if rules is not Rules.RAYWARD:
        # KubeRay passes sizes to no cluster that serves, only whole groups
        return wanted if Effect.SCALE in found else with_config(wanted, running)
    old, new = (section(section(one, "spec"), _CONFIG) for one in (live, wanted))
    config = new if Effect.ROLLING_WORKERS in found else running
    scaled = [change.path for change in found if change.effect is Effect.SCALE]
    groups = [_sized(group, old, new, running, scaled) for group in entries(config, _GROUPS)]
    known = {group.get("groupName") for group in groups}
    if Effect.SCALE in found:
        groups += [group for group in entries(new, _GROUPS) if group.get("groupName") not in known]
    return with_config(wanted, {**config, _GROUPS: groups})


def _sized(group: Object, old: Object, new: Object, running: Object, scaled: Sequence[str]) -> Object:
    """A group with its bounds as they are asked for, and replicas as its cluster has them unless it is scaled."""
    before, after, now = (_group(config, group.get("groupName")) for config in (old, new, running))
    if after is None:
        return group
    sized: dict[str, Any] = {name: value for name, value in group.items() if name not in (_REPLICAS, *_BOUNDS)}
    sized |= {name: after[name] for name in _BOUNDS if name in after}
    autoscaled = running.get("enableInTreeAutoscaling") is True
    named = f"[{group.get('groupName')}]"
    asked = (before or {}).get(_REPLICAS) != after.get(_REPLICAS) and any(named in path for path in scaled)
    source = after if now is None or (asked and not autoscaled) else now
    return sized | ({_REPLICAS: source[_REPLICAS]} if _REPLICAS in source else {})


def _group(config: Object, name: object) -> Object | None:
    return next((group for group in entries(config, _GROUPS) if group.get("groupName") == name), None)
