"""What a cluster's status says, and when it is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.meta import condition_of, is_true, rfc3339
from rayward.kube.core.objects import OwnerReference
from rayward.kube.core.pod import ContainerState, ContainerStateWaiting, ContainerStatus, PodStatus
from rayward.kube.core.status import status_body
from rayward.operator.cluster import status as statuses
from rayward.operator.cluster.decide import SETTLE_SECONDS, decide
from rayward.operator.cluster.gate import Gate
from rayward.operator.cluster.state import CreatePod, Observed
from rayward.operator.cluster.status import Failure, status_of
from rayward.operator.cluster.version import target_of
from tests.operator.cluster.world import NOW, World, cluster, regroup, settled, state, status
from tests.operator.service import verdicts
from tests.operator.stage import Object, group, manifest, template


def _ready(of: RayClusterStatus) -> tuple[str, str]:
    found = condition_of(of.conditions, "Ready")
    assert found is not None
    return found.status, found.reason


def test_ready_stays_though_a_worker_is_lost_but_the_condition_does_not() -> None:
    world = settled()
    world.set_status(world.live("small")[0].metadata.name, status("Running", "False"))
    told = status_of(world.state(), NOW)
    assert told.state == "ready"
    assert _ready(told) == ("False", "PodsStarting")
    assert (told.available_worker_replicas, told.ready_worker_replicas) == (2, 1)


def test_counts_of_all_groups_together_fit_their_fields() -> None:
    huge = [group(name, 2**31 - 1, minReplicas=2**31 - 1, maxReplicas=2**31 - 1) for name in ("one", "two")]
    told = status_of(state(cluster(manifest(groups=huge))), NOW)
    counts = (told.desired_worker_replicas, told.min_worker_replicas, told.max_worker_replicas)
    assert counts == (2**31 - 1,) * 3


def test_a_failure_is_told_and_taken_back() -> None:
    world = settled()
    failed = status_of(world.state(), NOW, failure=Failure("FailedCreateWorkerPod", "no quota"))
    found = condition_of(failed.conditions, "ReplicaFailure")
    assert found is not None
    assert (found.status, found.reason, found.message) == ("True", "FailedCreateWorkerPod", "no quota")
    after = msgspec.structs.replace(world.cluster, status=failed)
    assert condition_of(status_of(state(after, world.observed()), NOW).conditions, "ReplicaFailure") is None


def test_the_time_of_writing_alone_is_no_news() -> None:
    told = settled().cluster.status
    assert not statuses.changed(told, msgspec.structs.replace(told, last_update_time="2026-01-01T00:00:00Z"))


def _half_started() -> World:
    world = World(cluster())
    world.step()
    world.step()
    world.set_status(world.live("headgroup")[0].metadata.name, status())
    return world


@pytest.mark.parametrize(("waited", "told"), [(None, False), (SETTLE_SECONDS / 2, False), (SETTLE_SECONDS, True)])
def test_progress_waits_a_moment_for_more(waited: float | None, told: bool) -> None:
    world = _half_started()
    todo = decide(world.state(waited=waited), NOW)
    assert (todo.status is not None) is told
    assert todo.batches_status is not told
    assert (todo.requeue_after is None) is told


def _begun(age: float) -> World:
    """A cluster whose pods were all created at the end of ``age`` seconds in the queue; none runs yet."""
    asked = manifest()
    asked["metadata"]["creationTimestamp"] = rfc3339(NOW - timedelta(seconds=age))
    world = World(cluster(asked))
    world.step()
    return world


@pytest.mark.parametrize(
    ("age", "waited", "told"),
    [
        pytest.param(0.0, None, True, id="no other cluster waits"),
        pytest.param(60.0, None, False, id="the end of a burst"),
        pytest.param(60.0, SETTLE_SECONDS / 2, False, id="its pods are still starting"),
        pytest.param(60.0, SETTLE_SECONDS, True, id="its pods take longer"),
    ],
)
def test_a_cluster_that_waited_for_its_turn_may_say_at_once_that_it_is_ready(
    age: float, waited: float | None, told: bool
) -> None:
    todo = decide(_begun(age).state(waited=waited), NOW)
    assert not todo.writes
    assert (todo.status is not None) is told
    assert (todo.requeue_after is None) is told


def test_a_first_status_with_a_problem_does_not_wait() -> None:
    world = _begun(60.0)
    failing = ContainerStatus(name="ray", state=ContainerState(waiting=ContainerStateWaiting(reason="ErrImagePull")))
    world.set_status(next(iter(world.pods)), PodStatus(phase="Pending", container_statuses=(failing,)))
    assert decide(world.state(), NOW).status is not None


def test_readiness_does_not_wait() -> None:
    world = _half_started()
    world.start()
    assert decide(world.state(), NOW).status is not None


def test_conditions_are_whole_as_the_schema_asks() -> None:
    for condition in status_body(settled().cluster.status)["conditions"]:
        assert set(condition) >= {"type", "status", "reason", "message", "lastTransitionTime"}
        assert condition["reason"]


def test_a_refused_spec_tells_what_runs() -> None:
    world = settled()
    told = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert told.observed_generation == world.cluster.status.observed_generation
    assert _ready(told) == ("True", "AllPodsReady")
    nothing = statuses.rejected_status(RayCluster(), Observed(), NOW, "InvalidSpec", "spec.x: no")
    assert _ready(nothing) == ("False", "InvalidSpec")


def _lose(world: World, *groups: str) -> None:
    for pod in [pod for each in groups for pod in world.live(each)]:
        world.mark_deleted(pod.metadata.name)


def _is_unready(world: World) -> None:
    world.set_status(world.live("small")[0].metadata.name, status("Running", "False"))


def _grew(world: World) -> None:
    world.add_pod(CreatePod(world.cluster.groups[0], 5))
    world.start()


@pytest.mark.parametrize(
    ("happens", "reason", "message"),
    [
        pytest.param(lambda world: _lose(world, "small"), "InvalidSpec", "1 of 3 pods exist", id="workers lost"),
        pytest.param(lambda world: _lose(world, "headgroup"), "InvalidSpec", "2 of 3 pods exist", id="head lost"),
        pytest.param(lambda world: _lose(world, "headgroup", "small"), "InvalidSpec", "spec.x: no", id="all lost"),
        pytest.param(_is_unready, "PodsStarting", "2 of 3 pods are ready", id="one is not ready"),
        pytest.param(_grew, "ScalingDown", "4 pods run", id="one too many"),
    ],
)
def test_ready_does_not_outlive_the_pods_of_a_refused_spec(
    happens: Callable[[World], None], reason: str, message: str
) -> None:
    world = settled()
    happens(world)
    told = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert _ready(told) == ("False", reason)
    found = condition_of(told.conditions, "Ready")
    assert found is not None
    assert message in found.message


def test_pods_of_a_spec_that_was_never_accepted_are_not_counted_against_it() -> None:
    world = settled()
    world.cluster = msgspec.structs.replace(world.cluster, status=RayClusterStatus())
    told = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert _ready(told) == ("False", "InvalidSpec")


def test_readiness_comes_back_with_the_pods_though_the_spec_is_still_refused() -> None:
    world = settled()
    _is_unready(world)
    lost = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    world.cluster = msgspec.structs.replace(world.cluster, status=lost)
    world.set_status(world.live("small")[0].metadata.name, status())
    told = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert _ready(told) == ("True", "AllPodsReady")


def test_a_refused_spec_that_is_suspended_says_so() -> None:
    world = settled()
    world.edit(suspend=True)
    ending = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert (ending.state, _ready(ending)) == ("ready", ("False", "Suspended"))
    assert is_true(ending.conditions, "RayClusterSuspending")
    _lose(world, "headgroup", "small")
    world.end()
    told = statuses.rejected_status(world.cluster, world.observed(), NOW, "InvalidSpec", "spec.x: no")
    assert (told.state, _ready(told)) == ("suspended", ("False", "Suspended"))
    assert is_true(told.conditions, "RayClusterSuspended")
    assert not is_true(told.conditions, "RayClusterProvisioned")
    assert told.observed_generation == 2


_Verdicts = tuple[str, bool, str]
_ON_ITS_WAY = ("InProgress", False, "Progressing")
_DONE = ("Current", True, "Healthy")
_STALLED = ("Failed", False, "Degraded")


def _verdicts(generation: int, told: RayClusterStatus) -> _Verdicts:
    """What kstatus, ``kubectl wait --for=condition=Ready`` and Argo CD conclude."""
    written = {"metadata": {"generation": generation}, "status": status_body(told)}
    return verdicts.kstatus(written), verdicts.waited_for(written), verdicts.argocd(written)[0]


def _as_known(world: World) -> _Verdicts:
    return _verdicts(world.cluster.metadata.generation, world.decide().status or world.cluster.status)


def _edited(world: World, image: str = "rayproject/ray:other") -> None:
    head = world.cluster.spec.head_group_spec
    spec = {**head.template["spec"], "containers": [{**head.template["spec"]["containers"][0], "image": image}]}
    world.edit(head_group_spec=msgspec.structs.replace(head, template={**head.template, "spec": spec}))


def test_every_tool_sees_a_new_cluster_become_ready() -> None:
    world = World(cluster())
    assert _as_known(world) == _ON_ITS_WAY
    world.step()
    assert _as_known(world) == _ON_ITS_WAY
    world.settle()
    assert _as_known(world) == _DONE
    world.set_status(world.live("small")[0].metadata.name, status("Running", "False"))
    assert _as_known(world) == _ON_ITS_WAY


def test_every_tool_sees_an_edit_until_the_last_pod_is_of_it() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    _edited(world)
    seen: list[_Verdicts] = []
    for _ in range(20):
        seen.append(_as_known(world))
        busy = world.step()
        busy = world.end() or busy
        if not (world.start() or busy):
            break
    world.step()
    assert set(seen[:-1]) == {_ON_ITS_WAY}
    assert _as_known(world) == _DONE


def test_every_tool_sees_that_a_strategy_keeps_a_cluster_drifted() -> None:
    world = settled()
    _edited(world)
    world.settle()
    assert _as_known(world) == _STALLED
    stalled = condition_of(world.cluster.status.conditions, "Stalled")
    assert stalled is not None
    assert stalled.reason == "TemplateChanged"
    assert "headGroupSpec.spec.containers[ray].image" in stalled.message
    assert "spec.upgradeStrategy.type" in stalled.message


def test_every_tool_sees_a_rejected_spec_and_its_correction() -> None:
    world = settled()
    good = world.cluster.spec.head_group_spec
    world.edit(head_group_spec=msgspec.structs.replace(good, template={}))
    world.settle()
    assert _as_known(world) == _STALLED
    world.edit(head_group_spec=good)
    assert _as_known(world) == _DONE


def test_a_failed_write_keeps_every_tool_waiting() -> None:
    world = settled()
    regroup(world, replicas=3)
    failed = status_of(world.state(), NOW, failure=Failure("FailedCreateWorkerPod", "no quota"))
    assert _verdicts(world.cluster.metadata.generation, failed) == _ON_ITS_WAY


def test_every_tool_waits_with_a_cluster_that_waits_for_quota() -> None:
    for found in (cluster(), settled().cluster):
        told = status_of(dataclasses.replace(state(found), gate=Gate(gated=True)), NOW)
        assert _ready(told) == ("False", "WaitingForQuota")
        assert _verdicts(found.metadata.generation, told) == _ON_ITS_WAY


def test_amounts_are_told_as_kuberay_does_zero_among_them() -> None:
    """Go writes an amount of 0 always, and leaves out a number that is 0."""
    told = status_body(settled(manifest(groups=[])).cluster.status)
    assert (told["desiredCPU"], told["desiredGPU"], told["desiredTPU"]) == ("1", "0", "0")
    assert not {"desiredWorkerReplicas", "readyWorkerReplicas", "reason"} & set(told)


def test_a_status_that_kuberay_wrote_of_a_cluster_that_failed_is_one_of_ours_once_it_is_ready() -> None:
    world = World(cluster())
    old = {"state": "failed", "reason": "no head", "desiredGPU": 0, "head": {}, "maxWorkerReplicas": 2147483647}
    world.cluster = msgspec.structs.replace(world.cluster, status=msgspec.convert(old, RayClusterStatus))
    world.settle()
    told = status_body(world.cluster.status)
    assert (told["state"], told.get("reason"), told["desiredGPU"]) == ("ready", None, "0")


def test_a_suspended_cluster_is_suspended_to_argocd_and_never_done_to_the_others() -> None:
    world = settled()
    world.edit(suspend=True)
    assert _as_known(world) == _ON_ITS_WAY
    world.settle()
    world.end()
    world.settle()
    assert is_true(world.cluster.status.conditions, "RayClusterSuspended")
    assert _as_known(world) == ("InProgress", False, "Suspended")
    world.edit(suspend=False)
    assert _as_known(world) == _ON_ITS_WAY
    world.settle()
    assert _as_known(world) == _DONE


def test_the_heads_readiness_has_two_names_and_the_autoscaler_one() -> None:
    world = settled(manifest(enableInTreeAutoscaling=True))

    def found(kind: str) -> tuple[str, str] | None:
        condition = condition_of(status_of(world.state(), NOW).conditions, kind)
        return None if condition is None else (condition.status, condition.reason)

    assert found("HeadPodRunningAndReady") == found("HeadPodReady") == ("True", "HeadPodRunningAndReady")
    assert found("AutoscalerHealthy") == ("False", "AutoscalerNotReady")
    (head,) = world.live("headgroup")
    running = (*(head.status.container_statuses or ()), ContainerStatus(name="autoscaler", ready=True))
    world.set_status(head.metadata.name, msgspec.structs.replace(head.status, container_statuses=running))
    assert found("AutoscalerHealthy") == ("True", "AutoscalerRunning")
    world.edit(enable_in_tree_autoscaling=False)
    assert found("AutoscalerHealthy") is None


def _told_version(world: World, running: str) -> tuple[str, str, str] | None:
    told = status_of(world.state(ray_version=running), NOW)
    world.cluster = msgspec.structs.replace(world.cluster, status=told)
    found = condition_of(told.conditions, "RayVersionMismatch")
    return None if found is None else (found.status, found.reason, found.message)


def _of(version: str, image: str = "ray") -> Object:
    head = {"rayStartParams": {}, "template": template(image=image)}
    return manifest(rayVersion=version, headGroupSpec=head, groups=[])


_OLDER = _of("2.9.0", "rayproject/ray:2.9.0-py311")
_DIFFERS = "the head runs Ray 2.60.0, but spec.rayVersion is 2.9.0 and the tag of the head's image is 2.9.0: "


def test_a_ray_that_is_not_the_one_written_is_told_by_the_head_itself() -> None:
    world = settled(_OLDER)
    assert _told_version(world, "") is None
    told = _told_version(world, "2.60.0")
    assert told == ("True", "Dashboard", f"{_DIFFERS}write the version that runs")
    # An operator that has just started has not asked yet.
    assert _told_version(world, "") == told
    assert _told_version(world, "2.9.0") == ("False", "InAgreement", "")
    assert _told_version(world, "") == ("False", "InAgreement", "")


@pytest.mark.parametrize(
    ("written", "running"),
    [
        pytest.param("2.60", "2.60.0", id="the same"),
        pytest.param("nightly", "2.60.0", id="what is written is no version"),
        pytest.param("2.9.0", "a build of mine", id="what runs is none"),
        pytest.param("", "2.60.0", id="nothing is written"),
    ],
)
def test_a_ray_that_cannot_be_told_apart_is_no_mismatch(written: str, running: str) -> None:
    assert _told_version(settled(_of(written)), running) is None


def test_a_head_is_asked_once_it_is_ready_and_again_when_it_is_another() -> None:
    world = settled(_OLDER)
    asked = target_of(world.cluster, world.observed().pods)
    assert asked is not None
    (head,) = world.live("headgroup")
    assert asked.head == f"{head.metadata.uid}/0"
    world.set_status(head.metadata.name, status("Running", "False"))
    assert target_of(world.cluster, world.observed().pods) is None
    world.set_status(head.metadata.name, status())
    for kind, is_asked in (("RayService", False), ("RayJob", True)):
        owner = OwnerReference(api_version="ray.io/v1", kind=kind, name="o", uid="o", controller=True)
        metadata = msgspec.structs.replace(world.cluster.metadata, owner_references=(owner,))
        owned = msgspec.structs.replace(world.cluster, metadata=metadata)
        assert (target_of(owned, world.observed().pods) is not None) is is_asked, "a RayService's controller compares"
