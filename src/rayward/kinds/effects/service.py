"""What an edit of a RayService does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.effects.change import Change, Effect, Rules
from rayward.kinds.effects.cluster import GROUPS, ClusterEdit, as_hashed, size_effect
from rayward.kinds.effects.decisions import Code, code_of, release_change, replaced_code
from rayward.kinds.effects.differences import Difference, same_meaning
from rayward.kinds.effects.roles import UNKNOWN_TO_1_6, UNKNOWN_TO_KUBERAY, Role, is_below, outside_release, role_of
from rayward.kinds.hashing import release_hash
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayservice import RayService, RayServiceSpec
from rayward.kinds.serveconfig import ServeConfigError
from rayward.kinds.shapes.totals import desired_workers
from rayward.kinds.validation.service import serve_config
from rayward.kube.machinery.jsonvalue import entries, is_object

Answer = tuple[Effect, str]

_NESTED: Final = "rayClusterConfig"
_CONFIGS: Final = ("serveConfigV2", "serveDeploymentGraphSpec")
_INCREMENTAL: Final = "NewClusterWithIncrementalUpgrade"
_NOT_IN_KUBERAY: Final = ("deploymentUnhealthyRestartThreshold", "serveDeploymentGraphSpec")
_VERBS: Final = (labels.PAUSE, labels.PROMOTE, labels.ABORT)
_SETTINGS: Final = (
    labels.PROGRESS_DEADLINE,
    labels.DRAIN_TIMEOUT,
    labels.SCHEDULING_TIMEOUT,
    labels.REPLICA_START_TIMEOUT,
    labels.QUEUE_TIMEOUT,
    labels.WAIT_FOR_WORKERS,
    labels.SERVE_CONFIG_UPGRADE,
)
_ROLLS: Final = "its workers are replaced one by one; the head and the cluster that serves stay"
_OTHER_CODE: Final = (
    "{} gets an application of another name or import_path, and in place requests would be lost if that fails "
    f"(annotation {labels.SERVE_CONFIG_UPGRADE}=InPlace rolls it out in place anyway)"
)
_HELD: Final = "the cluster that serves is of an earlier spec"
_ALONG: Final = "it comes with the new cluster that another field of this edit needs"


@dataclass(frozen=True, slots=True)
class ServiceEdit:
    """Two versions of a RayService and what follows from both as a whole.

    Attributes:
        old: Before.
        new: After.
        rules: Whose operator acts.
        running: The spec of the cluster that serves; the old version's where it is not known.
        serving: The payload of the Serve config that last ran there; the old version's where it is not known.
        release: What the new version asks of that cluster.
    """

    old: RayService
    new: RayService
    rules: Rules
    running: RayClusterSpec
    serving: object
    release: Effect

    @property
    def is_kuberay(self) -> bool:
        """Whether KubeRay's operator acts."""
        return self.rules is not Rules.RAYWARD

    @property
    def is_let_go(self) -> bool:
        """Whether the cluster that serves had another release than the object before this edit, which held it back."""
        return release_hash(self.running) != release_hash(self.old.spec.ray_cluster_config)

    @property
    def is_held(self) -> bool:
        """Whether the service has no clusters before or after the edit."""
        if self.rules is Rules.KUBERAY_1_6:
            return False
        return self.old.spec.suspend or self.new.spec.suspend


def service_edit(
    old: RayService, new: RayService, rules: Rules, running: RayClusterSpec | None, serving: object = None
) -> ServiceEdit:
    strategy = new.spec.upgrade_strategy.type if new.spec.upgrade_strategy else None
    live = running or old.spec.ray_cluster_config
    wanted = as_hashed(new.spec.ray_cluster_config, rules)
    rolls = rules is Rules.RAYWARD and new.metadata.annotation(labels.ROLLING_UPDATE) == "workers"
    effect = release_change(
        as_hashed(live, rules), wanted, in_place_only=strategy == "None", rolls_workers=rolls
    ).effect
    if effect is Effect.SCALE and rules is not Rules.RAYWARD and strategy == "None":
        effect = Effect.NEXT_CLUSTER
    runs = _payload(old.spec) if serving is None else serving
    if rules is Rules.RAYWARD and strategy != "None" and _asks_cluster_for_config(runs, new):
        effect = Effect.NEW_CLUSTER
    return ServiceEdit(old, new, rules, live, runs, effect)


def service_changes(edit: ServiceEdit, found: Iterable[Difference]) -> Iterator[Change]:
    """The effect of each difference; paths of differences start at the object's root."""
    for difference in found:
        root, *rest = difference.segments
        answer: Answer | None = None
        if root == "spec" and rest:
            answer = _spec(edit, difference, rest[0])
        elif difference.segments[:2] == ("metadata", "annotations") and len(rest) > 1:
            answer = _annotation(edit, rest[1])
        elif difference.segments[:2] == ("metadata", "labels"):
            answer = Effect.NEXT_CLUSTER, "labels are copied to clusters when they are made"
        if answer is not None:
            restarts = _rolled(edit, difference) if answer[0] is Effect.ROLLING_WORKERS else ()
            yield Change(difference.path, *answer, difference.old, difference.new, restarts)


def _spec(edit: ServiceEdit, difference: Difference, field: str) -> Answer:
    spec = edit.new.spec
    if field == "managedBy" and difference.old and difference.new:
        return Effect.REFUSED, "managedBy cannot be changed once set: recreate the object"
    if not is_managed_here(spec.managed_by):
        return Effect.IGNORED, f"managedBy is {spec.managed_by}: {edit.rules.operator} leaves the object alone"
    if edit.is_kuberay and (field in _NOT_IN_KUBERAY or (field == "suspend" and edit.rules is Rules.KUBERAY_1_6)):
        return Effect.IGNORED, f"{edit.rules.operator} has no such field"
    if field == "suspend":
        if edit.old.spec.suspend == spec.suspend:
            return Effect.IGNORED, "false means the same as unset"
        if spec.suspend:
            return Effect.SUSPEND, "a suspended service has no clusters and no Services"
        return Effect.RESUME, "a cluster is made from the spec"
    if field in (_NESTED, *_CONFIGS, "serveService") and edit.is_held:
        return Effect.NEXT_CLUSTER, "the service is suspended: the cluster of the resume has it"
    if field == _NESTED:
        return _nested(edit, difference)
    if field in _CONFIGS:
        return _config(edit)
    return _setting(edit, field)


def _setting(edit: ServiceEdit, field: str) -> Answer:
    spec = edit.new.spec
    read = "the operator reads it when it acts"
    if field == "upgradeStrategy":
        kind = spec.upgrade_strategy.type if spec.upgrade_strategy else None
        if kind == _INCREMENTAL and edit.rules is not Rules.KUBERAY_1_7:
            return Effect.REFUSED, f"{edit.rules.operator} has no incremental upgrades by default"
        before = edit.old.spec.upgrade_strategy.type if edit.old.spec.upgrade_strategy else None
        if edit.release is Effect.ROLLING_WORKERS and edit.is_let_go:
            return Effect.ROLLING_WORKERS, f"{_HELD}, and {_ROLLS}"
        if before == "None" and edit.release is Effect.NEW_CLUSTER:
            return Effect.NEW_CLUSTER, "the cluster that serves is of another release, which type None held back"
        return Effect.IN_PLACE, "it takes effect with the next change"
    if field == "serveService":
        if edit.is_kuberay:
            return Effect.NEXT_CLUSTER, f"{edit.rules.operator} updates the Service only when traffic moves"
        return Effect.IN_PLACE, "the Service is updated"
    if field in ("excludeHeadPodFromServeSvc", "rayClusterDeletionDelaySeconds"):
        return Effect.IN_PLACE, read
    if field == "deploymentUnhealthySecondThreshold" and not edit.is_kuberay:
        return Effect.IN_PLACE, read
    if field == "deploymentUnhealthyRestartThreshold" and spec.deployment_unhealthy_second_threshold is not None:
        return Effect.IN_PLACE, read
    if field == "deploymentUnhealthyRestartThreshold":
        return Effect.IGNORED, "it has no effect without deploymentUnhealthySecondThreshold"
    if field == "managedBy":
        return Effect.IGNORED, "the same operator acts on the object as before"
    known = field in ("serviceUnhealthySecondThreshold", "deploymentUnhealthySecondThreshold")
    return Effect.IGNORED, "it has no effect" if known else "no definition of this kind has the field"


def _config(edit: ServiceEdit) -> Answer:
    before, after = _payload(edit.old.spec), _payload(edit.new.spec)
    if after is None and not edit.is_kuberay:
        return Effect.REFUSED, _invalid(edit.new.spec)
    if before is not None and before == after:
        return Effect.IGNORED, "the config means the same"
    if edit.release is Effect.NEW_CLUSTER:
        gets = "the new cluster gets it; the one that serves keeps its own"
        moved = replaced_code(_code(edit.serving), _code(after))
        return Effect.NEW_CLUSTER, f"{gets}: {_OTHER_CODE.format(moved)}" if moved and not edit.is_kuberay else gets
    if edit.serving == after and not edit.is_kuberay:
        return Effect.IGNORED, "the cluster that serves runs it already"
    return Effect.IN_PLACE, "Ray Serve updates its applications on the cluster that serves"


def _asks_cluster_for_config(runs: object, new: RayService) -> bool:
    wanted, asked = _payload(new.spec), new.metadata.annotation(labels.SERVE_CONFIG_UPGRADE)
    if wanted is None or wanted == runs or asked == "InPlace":
        return False
    return asked == "NewCluster" or replaced_code(_code(runs), _code(wanted)) != ""


def _code(payload: object) -> Code:
    return code_of(entries(payload, "applications")) if is_object(payload) else frozenset()


def _payload(spec: RayServiceSpec) -> object:
    try:
        return serve_config(spec).payload
    except ServeConfigError:
        return None


def _invalid(spec: RayServiceSpec) -> str:
    try:
        serve_config(spec)
    except ServeConfigError as error:
        return str(error).partition("\n")[0]
    return "the Serve config is not valid"


def _nested(edit: ServiceEdit, difference: Difference) -> Answer:
    pattern = difference.pattern.removeprefix(f"spec.{_NESTED}").removeprefix(".")
    role = role_of(pattern)
    is_group = pattern in (GROUPS, f"{GROUPS}[]")
    if role is None and not is_group and pattern:
        return Effect.IGNORED, "no definition of this kind has the field"
    if edit.is_kuberay:
        unknown = (*UNKNOWN_TO_KUBERAY, *(UNKNOWN_TO_1_6 if edit.rules is Rules.KUBERAY_1_6 else ()))
        if is_below(pattern, unknown):
            return Effect.IGNORED, f"{edit.rules.operator} has no such field"
        if role is Role.SUSPEND and edit.rules is Rules.KUBERAY_1_6:
            effect = Effect.SUSPEND if edit.new.spec.ray_cluster_config.suspend else Effect.RESUME
            return effect, "KubeRay 1.6 passes it on to the cluster that serves"
    if role is Role.SUSPEND and not edit.is_kuberay and edit.release is not Effect.NEW_CLUSTER:
        return _suspend(edit)
    if edit.release is Effect.NEW_CLUSTER:
        why = (
            _ALONG
            if role in outside_release(is_kuberay=edit.is_kuberay)
            else "the cluster that serves is of another release"
        )
        return Effect.NEW_CLUSTER, why
    if edit.release is Effect.ROLLING_WORKERS and role in (Role.WORKERS, Role.INJECTED) and _group_of(difference):
        if same_meaning(difference.old, difference.new):
            return Effect.IGNORED, "both spellings mean the same"
        return Effect.ROLLING_WORKERS, _ROLLS
    if edit.release is Effect.NEXT_CLUSTER:
        return Effect.NEXT_CLUSTER, "upgradeStrategy.type is None and the edit needs another cluster: it waits"
    if is_group and edit.release in (Effect.SCALE, Effect.ROLLING_WORKERS):
        return Effect.SCALE, "groups added at the end join the cluster that serves"
    if role is Role.SIZE or role is Role.BOUND:
        return _size(edit, difference, role)
    if role in outside_release(is_kuberay=edit.is_kuberay) and edit.release is Effect.SCALE and edit.is_kuberay:
        return Effect.NEXT_PODS, "KubeRay replaces the spec of the cluster that serves when groups are added"
    if role in outside_release(is_kuberay=edit.is_kuberay):
        return Effect.NEXT_CLUSTER, "it is given to a cluster when the cluster is made"
    if _lets_sizes_go(edit):
        return Effect.SCALE, "the cluster that serves has this release, and gets the sizes that were held back"
    return Effect.IGNORED, "the cluster that serves has it already, or both spellings mean the same"


def _lets_sizes_go(edit: ServiceEdit) -> bool:
    """Whether the edit goes back to the release that runs, after sizes of another one were asked for."""
    if edit.is_kuberay or not edit.is_let_go or edit.running.enable_in_tree_autoscaling:
        return False
    now, wanted = (
        [(group.group_name, desired_workers(group)) for group in spec.worker_group_specs or ()]
        for spec in (edit.running, edit.new.spec.ray_cluster_config)
    )
    return now != wanted


def _suspend(edit: ServiceEdit) -> Answer:
    before, after = (bool(service.spec.ray_cluster_config.suspend) for service in (edit.old, edit.new))
    if before == after:
        return Effect.IGNORED, "false means the same as unset"
    if after:
        return Effect.SUSPEND, "the cluster that serves is suspended: it has no pods, and requests are not answered"
    return Effect.RESUME, "the cluster that serves is resumed"


def _size(edit: ServiceEdit, difference: Difference, role: Role) -> Answer:
    if edit.is_kuberay and edit.release is not Effect.SCALE:
        return Effect.NEXT_CLUSTER, f"{edit.rules.operator} does not pass sizes on to the cluster that serves"
    autoscaled = bool(edit.running.enable_in_tree_autoscaling)
    if role is Role.SIZE and autoscaled:
        return Effect.NEXT_CLUSTER, "replicas of the cluster that serves belong to the autoscaler"
    old, new = (RayCluster(spec=service.spec.ray_cluster_config) for service in (edit.old, edit.new))
    item = next(part for part in difference.segments if part.startswith("["))
    return size_effect(ClusterEdit(old, new, edit.rules, hash_changed=False), difference, role, item[1:-1])


def _rolled(edit: ServiceEdit, difference: Difference) -> tuple[str, ...]:
    """The groups whose workers are replaced: that of the field, or all that the cluster that serves has otherwise."""
    if (group := _group_of(difference)) is not None:
        return (group,)
    wanted = edit.new.spec.ray_cluster_config.worker_group_specs or ()
    pairs = zip(edit.running.worker_group_specs or (), wanted, strict=False)
    alone = msgspec.structs.replace(edit.running, worker_group_specs=None)
    return tuple(
        before.group_name
        for before, after in pairs
        if release_hash(msgspec.structs.replace(alone, worker_group_specs=[before]))
        != release_hash(msgspec.structs.replace(alone, worker_group_specs=[after]))
    )


def _group_of(difference: Difference) -> str | None:
    """The worker group that a field is of."""
    place = ("spec", _NESTED, GROUPS)
    return difference.segments[3][1:-1] if difference.segments[:3] == place and len(difference.segments) > 3 else None


def _annotation(edit: ServiceEdit, name: str) -> Answer:
    if name == labels.ROLLING_UPDATE and not edit.is_kuberay:
        if edit.release is Effect.ROLLING_WORKERS and edit.is_let_go:
            return Effect.ROLLING_WORKERS, f"{_HELD}, and {_ROLLS}"
        return Effect.IN_PLACE, "it takes effect with the next change, where upgradeStrategy.type is None"
    if name in (*_VERBS, *_SETTINGS) and not edit.is_kuberay:
        return Effect.IN_PLACE, "the operator reads it when it acts"
    if name == labels.RESTARTED_AT and not edit.is_kuberay:
        return Effect.IN_PLACE, "the Serve config is sent again; no pod restarts"
    if name == labels.INITIALIZING_TIMEOUT:
        return Effect.IN_PLACE, "the operator reads it when it acts"
    return Effect.NEXT_CLUSTER, "annotations are copied to clusters when they are made"
