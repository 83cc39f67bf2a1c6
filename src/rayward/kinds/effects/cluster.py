"""What an edit of a RayCluster does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.effects.change import Change, Effect, Rules
from rayward.kinds.effects.decisions import renewal
from rayward.kinds.effects.differences import Difference, same_meaning
from rayward.kinds.effects.roles import UNKNOWN_TO_1_6, UNKNOWN_TO_KUBERAY, Role, is_below, outside_release, role_of
from rayward.kinds.hashing import release_hash
from rayward.kinds.kueue import names as kueue
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster, RayClusterSpec, WorkerGroup
from rayward.kinds.shapes.totals import desired_workers
from rayward.kube.core.meta import condition_of

Answer = tuple[Effect, str]

GROUPS: Final = "workerGroupSpecs"
_ENTRY: Final = "workerGroupSpecs[]"
_FT: Final = "gcsFaultToleranceOptions"
_KUBERAY_GATED: Final = ("networkPolicy", "tlsOptions", "historyServerOptions", f"{_FT}.storage")
_RECREATED: Final = "upgradeStrategy.type is Recreate, and the spec changed"
_ROLLED: Final = f"the annotation {labels.ROLLING_UPDATE} replaces workers one by one"
_WAITED: Final = "pods of an earlier spec, which the condition Drifted names, are replaced now"
_KEPT: Final = "upgradeStrategy.type is not Recreate, so running pods stay"


@dataclass(frozen=True, slots=True)
class ClusterEdit:
    """Two versions of a RayCluster and what follows from both as a whole."""

    old: RayCluster
    new: RayCluster
    rules: Rules
    hash_changed: bool

    @property
    def is_kuberay(self) -> bool:
        """Whether KubeRay's operator acts."""
        return self.rules is not Rules.RAYWARD

    @property
    def renewal(self) -> Effect:
        """What becomes of pods whose template is another one now."""
        effect = renewal(self.new)
        return Effect.NEXT_PODS if effect is Effect.ROLLING_WORKERS and self.is_kuberay else effect

    @property
    def waiting(self) -> tuple[str, ...]:
        """Groups that have pods of an earlier spec, as Rayward's condition Drifted says."""
        found = condition_of(self.old.status.conditions, "Drifted")
        if found is None or found.status != "True" or self.is_kuberay or _is_suspended(self):
            return ()
        # the condition names the first fields only
        listed = found.message.partition("changed: ")[2].split(", ")
        whole = listed[-1].endswith(" more")
        places = [
            ("headGroupSpec." if name == labels.HEAD_GROUP else f"{GROUPS}[{name}].", name) for name in self.groups
        ]
        return tuple(name for place, name in places if whole or any(path.startswith(place) for path in listed))

    @property
    def groups(self) -> tuple[str, ...]:
        """Every group that has pods before the edit."""
        return (labels.HEAD_GROUP, *(group.group_name for group in self.old.groups))


def cluster_edit(old: RayCluster, new: RayCluster, rules: Rules) -> ClusterEdit:
    before, after = (as_hashed(cluster.spec, rules) for cluster in (old, new))
    return ClusterEdit(old, new, rules, release_hash(before) != release_hash(after))


def as_hashed(spec: RayClusterSpec, rules: Rules) -> RayClusterSpec:
    """A group's suspend counts in KubeRay's hash and not in ours: for KubeRay it is moved where ours sees it."""
    if rules is Rules.RAYWARD:
        return spec
    groups = [
        msgspec.structs.replace(group, labels={**(group.labels or {}), "suspend": str(bool(group.suspend))})
        for group in spec.worker_group_specs or ()
    ]
    return msgspec.structs.replace(spec, worker_group_specs=groups)


def cluster_changes(edit: ClusterEdit, found: Iterator[Difference]) -> Iterator[Change]:
    """The effect of each difference; paths of differences start at the object's root."""
    for difference in found:
        if difference.segments[0] == "spec":
            yield _spec_change(edit, difference)
        elif (change := _metadata_change(edit, difference)) is not None:
            yield change


def _spec_change(edit: ClusterEdit, difference: Difference) -> Change:
    pattern = difference.pattern.removeprefix("spec.")
    group = _group_of(difference)
    role = _role(edit, pattern)
    effect, why = _effect(edit, difference, pattern, role, group)
    restarts: tuple[str, ...] = ()
    if effect is Effect.RECREATE:
        only = role in (Role.INJECTED, Role.HOSTS) and not (_recreates(edit) and edit.hash_changed)
        restarts = (group,) if only else edit.groups
    elif effect is Effect.ROLLING_WORKERS and role is Role.STRATEGY:
        restarts = _waiting_workers(edit)
    elif effect is Effect.ROLLING_WORKERS:
        restarts = (group,) if role in (Role.WORKERS, Role.INJECTED) else edit.groups[1:]
    return Change(difference.path, effect, why, difference.old, difference.new, restarts)


def _effect(edit: ClusterEdit, difference: Difference, pattern: str, role: Role | None, group: str) -> Answer:
    if role is None and pattern not in (GROUPS, _ENTRY):
        return Effect.IGNORED, "no definition of this kind has the field"
    if (given := _outside_rules(edit, difference, pattern, role)) is not None:
        return given
    if role is Role.SUSPEND:
        return _suspension(edit)
    if _is_suspended(edit) and role not in (Role.SERVICE, Role.INGRESS, Role.NETWORK, Role.STRATEGY, Role.OWNER):
        return Effect.NEXT_PODS, "the cluster is suspended: pods have it when they are created again"
    if _recreates(edit) and edit.hash_changed and role not in outside_release(is_kuberay=edit.is_kuberay):
        return Effect.RECREATE, _RECREATED
    if role in (None, Role.SIZE, Role.BOUND, Role.VICTIMS, Role.GROUP_SUSPEND, Role.HOSTS, Role.NAME):
        return size_effect(edit, difference, role, group)
    if role in (Role.SERVICE, Role.INGRESS, Role.NETWORK):
        return _child(edit, role)
    if role is Role.PACE:
        autoscaled = bool(edit.new.spec.enable_in_tree_autoscaling)
        reads = "the autoscaler reads it from the RayCluster"
        return (Effect.IN_PLACE, reads) if autoscaled else (Effect.IGNORED, "enableInTreeAutoscaling is not true")
    if role is Role.STRATEGY:
        return _let_go(edit)
    if role is Role.MISSING:
        return Effect.IGNORED, f"{edit.rules.operator} does not have this feature"
    if role is Role.OWNER:
        return Effect.IGNORED, "the same operator acts on the object as before"
    if same_meaning(difference.old, difference.new):
        return Effect.IGNORED, "both spellings mean the same"
    return _pods(edit, role, group)


def _let_go(edit: ClusterEdit) -> Answer:
    """Another way to change pods counts for an edit too that they still wait for."""
    if edit.waiting and edit.renewal is Effect.RECREATE and renewal(edit.old) is not Effect.RECREATE:
        return Effect.RECREATE, _WAITED
    if _waiting_workers(edit) and edit.renewal is Effect.ROLLING_WORKERS:
        return Effect.ROLLING_WORKERS, _WAITED
    return Effect.IN_PLACE, "it takes effect with the next change"


def _waiting_workers(edit: ClusterEdit) -> tuple[str, ...]:
    return tuple(group for group in edit.waiting if group != labels.HEAD_GROUP)


def _outside_rules(edit: ClusterEdit, difference: Difference, pattern: str, role: Role | None) -> Answer | None:
    """What is settled before anything about pods is asked."""
    if role is Role.OWNER and difference.old and difference.new:
        return Effect.REFUSED, "managedBy cannot be changed once set: recreate the object"
    if not is_managed_here(edit.new.spec.managed_by):
        return Effect.IGNORED, f"managedBy is {edit.new.spec.managed_by}: {edit.rules.operator} leaves the object alone"
    if role is Role.BACKEND and difference.old and difference.new:
        return Effect.REFUSED, "the backend cannot be changed: recreate the object"
    if not edit.is_kuberay:
        return None
    unknown = (*UNKNOWN_TO_KUBERAY, *(UNKNOWN_TO_1_6 if edit.rules is Rules.KUBERAY_1_6 else ()))
    if is_below(pattern, unknown):
        return Effect.IGNORED, f"{edit.rules.operator} has no such field"
    if is_below(pattern, _KUBERAY_GATED) and difference.new is not None:
        return Effect.REFUSED, f"the feature gate is off by default in {edit.rules.operator}"
    return None


def _suspension(edit: ClusterEdit) -> Answer:
    before, after = bool(edit.old.spec.suspend), bool(edit.new.spec.suspend)
    if before == after:
        return Effect.IGNORED, "false means the same as unset"
    if after:
        return Effect.SUSPEND, "a suspended cluster has no pods"
    if edit.is_kuberay and edit.new.spec.suspend is None:
        return Effect.IGNORED, f"{edit.rules.operator} resumes only when suspend is false, not when it is removed"
    return Effect.RESUME, "the cluster gets its pods again"


def _is_suspended(edit: ClusterEdit) -> bool:
    stays = edit.is_kuberay and edit.old.spec.suspend and edit.new.spec.suspend is None
    # A cluster that resumes in the same edit has no pods either that could be replaced.
    return bool(edit.new.spec.suspend or edit.old.spec.suspend or stays)


def _child(edit: ClusterEdit, role: Role) -> Answer:
    if not edit.is_kuberay:
        return Effect.IN_PLACE, "the object beside the pods is updated"
    if role is Role.INGRESS and edit.new.spec.head_group_spec.enable_ingress:
        return Effect.IN_PLACE, "the Ingress is updated"
    if role is Role.NETWORK:
        return Effect.IN_PLACE, "the network policies are updated"
    return Effect.IGNORED, f"{edit.rules.operator} makes it once and never updates it"


def _pods(edit: ClusterEdit, role: Role | None, group: str) -> Answer:
    effect = edit.renewal
    if role is Role.AUTOSCALER and not (
        edit.new.spec.enable_in_tree_autoscaling or edit.old.spec.enable_in_tree_autoscaling
    ):
        return Effect.IGNORED, "enableInTreeAutoscaling is not true"
    if role is Role.INJECTED and effect is Effect.RECREATE and (edit.is_kuberay or group == labels.HEAD_GROUP):
        return Effect.NEXT_PODS, "admission queues write it, so it does not count as a change of the spec"
    if role in (Role.HEAD, Role.AUTOSCALER, Role.BACKEND) or (role is Role.INJECTED and group == labels.HEAD_GROUP):
        return Effect.NEXT_PODS, f"{_KEPT}; the head is replaced only by Recreate, or when it ends"
    if effect is Effect.ROLLING_WORKERS:
        return effect, _ROLLED
    return (effect, _RECREATED) if effect is Effect.RECREATE else (effect, _KEPT)


def size_effect(edit: ClusterEdit, difference: Difference, role: Role | None, name: str) -> Answer:
    """The effect of fields that say how many pods there are."""
    if role is None or role is Role.NAME:
        return _group_entry(edit, difference)
    before, after = (_find(cluster, name) for cluster in (edit.old, edit.new))
    if before is None or after is None:
        return Effect.SCALE, "the group is another one"
    autoscaled = bool(edit.new.spec.enable_in_tree_autoscaling)
    if role is Role.VICTIMS:
        added = set(_victims(after)) - set(_victims(before))
        return (Effect.SCALE, "these pods are deleted") if added else (Effect.IGNORED, "no pod is named that was not")
    if role is Role.HOSTS and (after.num_of_hosts or 1) > 1:
        return Effect.RECREATE, "hosts of one replica start and end together"
    pods_before, pods_after = desired_workers(before), desired_workers(after)
    if pods_after > pods_before or (pods_after < pods_before and not autoscaled):
        return Effect.SCALE, f"the group has {pods_after} pods instead of {pods_before}"
    if pods_after < pods_before:
        return Effect.IGNORED, "with enableInTreeAutoscaling only the autoscaler removes pods"
    if role is Role.BOUND:
        return Effect.IN_PLACE, "it bounds the size from now on"
    held = "minReplicas and maxReplicas hold the group at the size it has"
    return Effect.IGNORED, held if role is Role.SIZE else "the group has as many pods as before"


def _group_entry(edit: ClusterEdit, difference: Difference) -> Answer:
    if difference.reordered:
        return Effect.IGNORED, "the order of groups does not matter to a RayCluster"
    if difference.new is not None:
        return Effect.SCALE, "the group is added"
    if edit.is_kuberay:
        return Effect.IGNORED, f"{edit.rules.operator} never deletes the pods of a group that was removed"
    return Effect.SCALE, "the group is removed, and its pods are deleted"


def _metadata_change(edit: ClusterEdit, difference: Difference) -> Change | None:
    """Labels and annotations that the operator reads; the others do nothing."""
    _, part, *rest = difference.segments
    if not rest:
        return None
    restarts: tuple[str, ...] = ()
    if part == "labels":
        effect, why = label_change(rest[0], edit.rules)
    else:
        effect, why, restarts = _annotation(edit, rest[0])
    return Change(difference.path, effect, why, difference.old, difference.new, restarts)


def label_change(name: str, rules: Rules) -> Answer:
    """What another value of a label on the object itself does."""
    if name in (labels.QUEUE_NAME, kueue.QUEUE_NAME, kueue.PRIORITY_CLASS):
        if rules is Rules.RAYWARD:
            return Effect.IN_PLACE, "quota is requested again: pods run while the queue admits them"
        if name != labels.QUEUE_NAME:
            return Effect.IN_PLACE, "Kueue reads it"
    return Effect.IGNORED, "the operator does not read it"


def _annotation(edit: ClusterEdit, name: str) -> tuple[Effect, str, tuple[str, ...]]:
    workers = edit.groups[1:]
    if name == labels.ROLLING_UPDATE and not edit.is_kuberay:
        effect, why = _let_go(edit)
        return effect, why, _waiting_workers(edit) if effect is Effect.ROLLING_WORKERS else ()
    if name in (labels.OVERWRITE_COMMAND, labels.FT_ENABLED):
        if not edit.is_kuberay and edit.renewal is not Effect.NEXT_PODS and not _is_suspended(edit):
            why = _ROLLED if edit.renewal is Effect.ROLLING_WORKERS else "workers made without it are replaced"
            return edit.renewal, f"{why}; the head stays", workers
        return Effect.NEXT_PODS, "pods made from now on have it", ()
    if name == labels.EXTERNAL_STORAGE_NAMESPACE:
        return Effect.NEXT_PODS, "the next head has it", ()
    if name in (labels.FT_DELETION_TIMEOUT, labels.DISABLE_HEAD_RESTART):
        return Effect.IN_PLACE, "the operator reads it when it acts", ()
    if name == labels.ENABLE_SERVE_SERVICE:
        return Effect.IN_PLACE, "the serve Service is made or removed", ()
    if name == labels.RESTARTED_AT:
        return Effect.IN_PLACE, "the operator reconciles the cluster once; no pod restarts", ()
    if edit.new.spec.head_group_spec.enable_ingress:
        return Effect.IN_PLACE, "it is copied to the Ingress", ()
    return Effect.IGNORED, "the operator does not read it", ()


def _role(edit: ClusterEdit, pattern: str) -> Role | None:
    role = role_of(pattern)
    if pattern == _FT or pattern.startswith(f"{_FT}."):
        toggled = (edit.old.spec.gcs_fault_tolerance_options is None) != (
            edit.new.spec.gcs_fault_tolerance_options is None
        )
        # Workers wait for a head that comes back, so they differ too.
        return Role.PODS if toggled else role
    return role


def _recreates(edit: ClusterEdit) -> bool:
    return edit.renewal is Effect.RECREATE


def _group_of(difference: Difference) -> str:
    if difference.segments[1:2] == (GROUPS,) and len(difference.segments) > 2:
        return difference.segments[2][1:-1]
    return labels.HEAD_GROUP if difference.segments[1:2] == ("headGroupSpec",) else ""


def _find(cluster: RayCluster, name: str) -> WorkerGroup | None:
    return next((group for group in cluster.groups if group.group_name == name), None)


def _victims(group: WorkerGroup) -> list[str]:
    return (group.scale_strategy.workers_to_delete if group.scale_strategy else None) or []
