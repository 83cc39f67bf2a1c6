from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.judging import OLDER_PODS, PODS_LAG, UNREAD, State, Verdict, judge, judge_end, patience
from rayward.kinds import labels
from tests.kinds.clusters import Object, changed, manifest, service_manifest

APPLIED, FAILED, PROGRESSING = State.APPLIED, State.FAILED, State.PROGRESSING


def _condition(kind: str, status: str, reason: str = "R", generation: int = 2) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": "m", "observedGeneration": generation}


def _object(body: Object, *conditions: Object, generation: int = 2, **status: Any) -> Object:
    body = changed(body, "metadata.generation", generation)
    return {**body, "status": {"conditions": list(conditions), **status}}


_READY: Object = {"conditions": [{"type": "Ready", "status": "True"}]}
READY = _condition("Ready", "True")
NO_UPGRADE = _condition("UpgradeInProgress", "False")
AVAILABLE = _condition("Progressing", "True", "NewReleaseAvailable")


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([READY, NO_UPGRADE, AVAILABLE], APPLIED),
        ([READY, NO_UPGRADE, _condition("Progressing", "True", "NewReleaseAvailable", 1)], PROGRESSING),
        ([READY, _condition("UpgradeInProgress", "True"), AVAILABLE], PROGRESSING),
        ([READY, NO_UPGRADE, _condition("Progressing", "True", "CreatingCluster")], PROGRESSING),
        ([_condition("Ready", "False"), NO_UPGRADE, AVAILABLE], PROGRESSING),
        ([READY, NO_UPGRADE, _condition("Progressing", "False", "ProgressDeadlineExceeded")], FAILED),
        ([READY, NO_UPGRADE, AVAILABLE, _condition("Drifted", "True", "UpgradeStrategyNone")], FAILED),
        ([READY, NO_UPGRADE, AVAILABLE, _condition("Stalled", "True")], FAILED),
        ([READY, NO_UPGRADE, AVAILABLE, _condition("Stalled", "True", generation=1)], APPLIED),
        ([READY, NO_UPGRADE, AVAILABLE, _condition("Reconciling", "True")], PROGRESSING),
    ],
)
def test_a_service_under_rayward(conditions: list[Object], state: State) -> None:
    assert judge("RayService", _object(service_manifest(), *conditions), 2).state is state


def _under_kuberay(applications: dict[str, str], pending: str = "", ready: str = "True") -> Object:
    statuses = {name: {"status": status, "message": "why"} for name, status in applications.items()}
    active = {"rayClusterName": "s-1", "applicationStatuses": statuses}
    return _object(
        service_manifest(),
        {"type": "Ready", "status": ready, "reason": "NonZeroServeEndpoints"},
        activeServiceStatus=active,
        pendingServiceStatus={"rayClusterName": pending} if pending else {},
    )


@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (_under_kuberay({"app": "RUNNING"}), APPLIED),
        (_under_kuberay({"app": "RUNNING"}, pending="s-2"), PROGRESSING),
        (_under_kuberay({"app": "DEPLOYING"}), PROGRESSING),
        (_under_kuberay({"app": "DEPLOY_FAILED"}), PROGRESSING),
        (_under_kuberay({"app": "RUNNING"}, ready="False"), PROGRESSING),
        (_under_kuberay({}), PROGRESSING),
    ],
)
def test_a_service_under_kuberay_is_judged_by_what_there_is(obj: Object, state: State) -> None:
    running = obj["spec"]["rayClusterConfig"]
    assert judge("RayService", obj, 2, running).state is state


def test_an_application_that_kuberay_could_not_deploy_fails_the_change_after_a_moment() -> None:
    """Of the release that is made ready too, which nobody takes back; the status may be of the edit before."""
    obj = _under_kuberay({"app": "RUNNING"}, pending="s-2")
    broken = {"app": {"status": "DEPLOY_FAILED", "message": "no module"}}
    coming = changed(obj, "status.pendingServiceStatus.applicationStatuses", broken)
    for body, cluster in ((coming, "s-2"), (_under_kuberay({"app": "DEPLOY_FAILED"}), "s-1")):
        found = judge("RayService", body, 2, obj["spec"]["rayClusterConfig"])
        assert (found.state, found.reason) == (PROGRESSING, "DEPLOY_FAILED")
        assert found.message.startswith(f"application app on RayCluster {cluster}: ")
        assert 0 < (patience(found) or 0) < 60


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "CrashLoopBackOff", "Unschedulable", "FailedCreateHeadPod"])
def test_pods_that_cannot_run_are_borne_with_for_a_while_and_named(reason: str) -> None:
    ready = {**_condition("Ready", "False", reason), "message": "pod c-head: why"}
    reconciling = _condition("Reconciling", "True", reason)
    found = judge("RayCluster", _object(manifest(), ready, reconciling), 2)
    assert found == Verdict(PROGRESSING, reason, "pod c-head: why")
    assert patience(found)
    earlier = {**ready, "observedGeneration": 1}
    assert judge("RayCluster", _object(manifest(), earlier, reconciling), 2).message == "m"
    head = {"type": "HeadPodReady", "status": "False", "reason": reason, "message": "pod c-head: why"}
    assert judge("RayCluster", _object(manifest(), head), 2) == found


def test_pods_that_start_are_waited_for_as_long_as_anybody_wants() -> None:
    starting = judge("RayCluster", _object(manifest(), _condition("Ready", "False", "PodsStarting")), 2)
    assert patience(starting) is None


def test_ready_of_the_old_cluster_is_not_done() -> None:
    obj = _under_kuberay({"app": "RUNNING"})
    older = changed({"spec": obj["spec"]["rayClusterConfig"]}, "spec.rayVersion", "2.59.0")["spec"]
    assert judge("RayService", obj, 2, older).state is PROGRESSING
    held = changed(obj, "spec.upgradeStrategy", {"type": "None"})
    assert judge("RayService", held, 2, older).state is FAILED
    assert judge("RayService", obj, 2, None).state is PROGRESSING


DRIFTED = _condition("Drifted", "True", "TemplateChanged")


@pytest.mark.parametrize(
    ("conditions", "status", "state"),
    [
        ([_condition("Accepted", "True"), READY], {"observedGeneration": 2}, APPLIED),
        ([_condition("Accepted", "True"), READY], {"observedGeneration": 1}, PROGRESSING),
        ([_condition("Accepted", "False", "InvalidSpec"), READY], {"observedGeneration": 1}, FAILED),
        ([_condition("Ready", "False")], {"observedGeneration": 2}, PROGRESSING),
        ([READY, DRIFTED], {"observedGeneration": 2}, FAILED),
        ([_condition("HeadPodReady", "False", "InvalidImageName")], {"observedGeneration": 2}, FAILED),
        ([_condition("HeadPodReady", "True")], {"observedGeneration": 2, "state": "ready"}, APPLIED),
        (
            [_condition("HeadPodReady", "True")],
            {"observedGeneration": 2, "state": "ready", "desiredWorkerReplicas": 2, "readyWorkerReplicas": 1},
            PROGRESSING,
        ),
    ],
)
def test_a_cluster(conditions: list[Object], status: Object, state: State) -> None:
    head = {"metadata": {"labels": {labels.NODE_TYPE: labels.HEAD}}, "status": _READY}
    head["spec"] = manifest()["spec"]["headGroupSpec"]["template"]["spec"]
    assert judge("RayCluster", _object(manifest(), *conditions, **status), 2, pods=[head]).state is state


def _pod(image: str, **metadata: Any) -> Object:
    told = {"name": "c-head", "labels": {labels.NODE_TYPE: labels.HEAD}, **metadata}
    return {"metadata": told, "spec": {"containers": [{"name": "ray-head", "image": image}]}, "status": _READY}


_GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("pods", "strategy", "state", "reason"),
    [
        (None, "None", PROGRESSING, UNREAD),
        ([_pod("new")], "None", APPLIED, "Ready"),
        ([], "Recreate", PROGRESSING, PODS_LAG),
        ([_pod("old")], "None", FAILED, OLDER_PODS),
        ([_pod("new"), _pod("old")], "None", FAILED, OLDER_PODS),
        ([_pod("old")], "Recreate", PROGRESSING, OLDER_PODS),
        ([_pod("new"), _pod("old", **_GOING)], "None", PROGRESSING, OLDER_PODS),
    ],
)
def test_a_cluster_under_kuberay_is_done_with_every_pod_of_its_template(
    pods: list[Object] | None, strategy: str, state: State, reason: str
) -> None:
    head = [{"name": "ray-head", "image": "new"}]
    body = changed(manifest(), "spec.headGroupSpec.template.spec.containers", head)
    body = changed(body, "spec.upgradeStrategy", {"type": strategy})
    obj = _object(body, _condition("HeadPodReady", "True"), observedGeneration=2, state="ready")
    found = judge("RayCluster", obj, 2, pods=pods)
    assert (found.state, found.reason) == (state, reason)


def _up(name: str, node: str, image: str = "new", **status: Any) -> Object:
    ready = {**_READY, **status}
    told = {"name": name, "labels": {labels.NODE_TYPE: node, labels.GROUP: "small"}}
    return {"metadata": told, "spec": {"containers": [{"name": "ray-head", "image": image}]}, "status": ready}


@pytest.mark.parametrize(
    ("pods", "state"),
    [
        ([_up("a", "head"), _up("b", "worker")], APPLIED),
        ([_up("a", "head")], PROGRESSING),
        ([_up("a", "head"), _up("b", "worker", conditions=[])], PROGRESSING),
        ([_up("a", "head"), _up("b", "worker"), _up("c", "worker")], PROGRESSING),
        ([_up("a", "head", "old"), _up("b", "worker")], FAILED),
    ],
)
def test_where_kuberay_does_not_say_that_it_saw_a_generation_the_pods_do(pods: list[Object], state: State) -> None:
    """It writes no status where nothing else in it changes."""
    head = [{"name": "ray-head", "image": "new"}]
    body = changed(manifest(), "spec.headGroupSpec.template.spec.containers", head)
    worker = changed(body["spec"]["workerGroupSpecs"][0], "template", {"spec": {}})
    body = changed(body, "spec.workerGroupSpecs", [worker])
    obj = _object(body, _condition("HeadPodReady", "True"), observedGeneration=1, state="ready")
    assert judge("RayCluster", obj, 2, pods=pods).state is state


def test_a_cluster_that_rolls_its_workers_is_on_its_way() -> None:
    body = changed(manifest(), "metadata.annotations", {labels.ROLLING_UPDATE: "workers"})
    obj = _object(body, READY, DRIFTED, observedGeneration=2)
    assert judge("RayCluster", obj, 2).state is PROGRESSING


@pytest.mark.parametrize(
    ("phase", "outcome", "state"),
    [
        ("", "", PROGRESSING),
        ("Running", "RUNNING", PROGRESSING),
        ("Complete", "SUCCEEDED", APPLIED),
        ("Complete", "STOPPED", FAILED),
        ("Failed", "FAILED", FAILED),
        ("ValidationFailed", "", FAILED),
        ("Retrying", "FAILED", PROGRESSING),
    ],
)
def test_a_job(phase: str, outcome: str, state: State) -> None:
    obj = _object({"metadata": {}, "spec": {}}, jobDeploymentStatus=phase, jobStatus=outcome)
    assert judge("RayJob", obj, 2).state is state


def _ended_job(stalled: Object) -> Object:
    return _object({"metadata": {}, "spec": {}}, stalled, jobDeploymentStatus="Complete", jobStatus="SUCCEEDED")


def test_an_edit_that_an_ended_job_ignores_has_not_come_true_and_the_job_succeeded_all_the_same() -> None:
    ignored = _ended_job(_condition("Stalled", "True", "EditIgnored"))
    assert judge("RayJob", ignored, 2) == Verdict(FAILED, "EditIgnored", "m")
    assert judge_end(ignored).state is APPLIED


@pytest.mark.parametrize(
    "stalled", [_condition("Stalled", "True", "EditIgnored"), _condition("Stalled", "False", "R", 1)]
)
def test_a_job_that_failed_did_so_by_its_own_cause_whatever_was_edited_since(stalled: Object) -> None:
    why: Object = {"reason": "AppFailed", "message": "exit code 3", "jobDeploymentStatus": "Failed"}
    failed = _object({"metadata": {}, "spec": {}}, stalled, generation=2, jobStatus="FAILED", **why)
    assert judge_end(failed) == Verdict(FAILED, "AppFailed", "exit code 3")


def test_an_ended_job_says_nothing_of_an_edit_before_the_operator_has_seen_it() -> None:
    unseen = _ended_job(_condition("Stalled", "False", "SpecAccepted", generation=1))
    assert judge("RayJob", unseen, 2).state is PROGRESSING
    assert judge_end(unseen).state is APPLIED


def test_a_newer_generation_and_a_deletion_end_the_wait() -> None:
    assert judge("RayCluster", _object(manifest(), generation=3), 2).state is State.SUPERSEDED
    doomed = changed(_object(manifest()), "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")
    assert judge("RayCluster", doomed, 2).state is FAILED
