"""What is decided where an application has no replica, or a cluster not all of its workers."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

from rayward.kinds.raycluster import RayCluster
from rayward.operator.ray.observation import UNSEEN
from rayward.operator.service.annotations import ClusterAnnotations
from rayward.operator.service.backends import Backends
from rayward.operator.service.decide import decide
from rayward.operator.service.observe import Observed, ObservedCluster
from rayward.operator.service.state import (
    RUNNING,
    Application,
    ChildCluster,
    Decision,
    Policy,
    Release,
    ServeState,
    State,
)
from tests.operator.service.world import START, A, B

_WHY = "no Ray node has room for a replica of deployment D: it needs 16 CPU and at most 3.8 are free on one node"
_LATER = START + timedelta(seconds=10)


def cluster(*, missing: str = "", **app: Any) -> ChildCluster:
    serve = ServeState("config-2", (dataclasses.replace(Application("app", "DEPLOYING"), **app),))
    return ChildCluster(
        "c1", "cluster-a", "config-2", good_config="config-1", created=START, promoted=True, head_ready=True,
        ready_pods=1, endpoints=1, serve=serve, applications=frozenset({"app"}), missing=missing,
        progressed_at=START,
    )  # fmt: skip


def observed(child: ChildCluster) -> Observed:
    found = ObservedCluster(RayCluster(), child, ClusterAnnotations(), None, UNSEEN)
    return Observed({child.name: found}, child.name, (), (), 1, Backends())


def decided(active: ChildCluster, *, seconds: float = 0, policy: Policy | None = None) -> Decision:
    release = dataclasses.replace(A, config="config-2")
    return decide(State(release, policy or Policy(), (active,), "c1"), START + timedelta(seconds=seconds))


def test_when_an_application_lost_its_last_replica_is_remembered_on_the_cluster() -> None:
    decision = decided(cluster(deserted=True))
    (change,) = decision.annotate
    assert change.deserted_since == START
    assert decision.requeue_at == _LATER


def test_an_application_that_answers_again_is_forgotten() -> None:
    active = dataclasses.replace(cluster(status=RUNNING), deserted_since=START)
    (change,) = decided(active, seconds=3).annotate
    assert change.answered


def test_a_config_whose_replicas_fit_nowhere_is_taken_back_within_seconds() -> None:
    active = dataclasses.replace(cluster(deserted=True, unscheduled=_WHY), deserted_since=START)
    assert decided(active, seconds=9).failure is None
    decision = decided(active, seconds=10)
    assert decision.failure is not None
    assert decision.failure.reason == "ReplicasUnschedulable"
    assert _WHY in decision.failure.message
    assert "rolled back to the previous Serve config" in decision.failure.message
    assert [change.config for change in decision.annotate] == ["config-1"]


def test_a_replica_that_has_a_node_may_take_its_time() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START)
    assert decided(active, seconds=300).failure is None
    slow = Policy(start_timeout=timedelta(minutes=20))
    assert decided(active, seconds=1200, policy=slow).failure is None


def test_a_constructor_that_does_not_return_while_nobody_answers_is_taken_back() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START)
    decision = decided(active, seconds=310)
    assert decision.failure is not None
    assert decision.failure.reason == "ReplicasNotStarted"
    assert "no replica has started within 300 s" in decision.failure.message
    assert [change.config for change in decision.annotate] == ["config-1"]
    assert decided(dataclasses.replace(active, good_config=""), seconds=310).failure is None, "nothing to go back to"
    assert decided(dataclasses.replace(active, deserted_since=None), seconds=310).failure is None, "old replicas answer"


def test_an_application_that_a_config_adds_may_take_long_to_start() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START, served=frozenset({"other"}))
    assert decided(active, seconds=310).failure is None, "nobody is without answers who had any"
    assert decided(dataclasses.replace(active, served=frozenset({"app"})), seconds=310).failure is not None


def test_a_replica_that_found_its_node_late_has_its_whole_time_to_start() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START)
    policy = Policy(scheduling_timeout=timedelta(minutes=3))
    assert decided(active, seconds=400, policy=policy).failure is None
    assert decided(active, seconds=480, policy=policy).failure is not None


def test_a_constructor_that_raises_while_nobody_answers_is_taken_back_before_ray_gives_up() -> None:
    raised = "Retrying 2 more time(s). Error:\nTraceback (most recent call last):\nRuntimeError: no weights"
    decision = decided(cluster(deserted=True, message=raised))
    assert decision.failure is not None
    assert decision.failure.reason == "ServeDeployFailed"
    assert decision.failure.message.startswith("Application app is DEPLOYING: RuntimeError: no weights")
    assert decision.failure.detail == raised
    assert "config-1" in [change.config for change in decision.annotate]
    assert decided(cluster(message=raised)).failure is None, "old replicas answer: Ray may try again"


def test_a_replica_whose_process_dies_while_nobody_answers_is_taken_back_before_ray_gives_up() -> None:
    died = "A replica failed to start with exception. Retrying 2 more time(s). Error:\nThe actor died unexpectedly"
    decision = decided(cluster(deserted=True, message=died))
    assert decision.failure is not None
    assert "The process of a replica died before it was ready" in decision.failure.message
    assert "config-1" in [change.config for change in decision.annotate]


def test_a_traceback_of_the_former_config_is_not_held_against_the_next_one() -> None:
    raised = "Error:\nTraceback (most recent call last):\nRuntimeError: no weights"
    active = cluster(deserted=True, message=raised)
    assert active.serve is not None
    not_sent = dataclasses.replace(active, serve=dataclasses.replace(active.serve, config="config-0"))
    assert decided(not_sent).failure is None
    assert decided(active).failure is not None


def test_an_application_that_a_config_adds_takes_no_readiness_away_while_it_loads() -> None:
    added = cluster(deserted=True)
    former = dataclasses.replace(added, served=frozenset({"app"}), deserted_since=START)
    fresh = dataclasses.replace(former, served=frozenset({"other"}))
    assert observed(former).silent(_LATER) == ("app",)
    assert observed(fresh).silent(_LATER) == ()
    assert observed(dataclasses.replace(fresh, served=None)).silent(_LATER) == ("app",), "a first config has to run"


def test_an_edit_that_adds_an_application_and_its_workers_waits_for_them() -> None:
    active = dataclasses.replace(cluster(deserted=True, unscheduled=_WHY), deserted_since=START)
    joining = dataclasses.replace(active, resizing=True, missing="1 of 3 pods of worker group small are running")
    added = dataclasses.replace(active, served=frozenset({"other"}))
    assert decided(added, seconds=11).failure is None, "it took no request before"
    assert decided(dataclasses.replace(joining, served=frozenset({"other"})), seconds=11).failure is None
    assert decided(joining, seconds=11).failure is None, "the room for it is on its way"
    assert decided(dataclasses.replace(joining, resizing=False), seconds=11).failure is not None
    failure = decided(joining, seconds=180).failure
    assert failure is not None
    assert failure.reason == "ReplicasUnschedulable"


def test_a_cluster_whose_first_config_came_up_within_seconds_is_given_seconds() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START, started_in=timedelta(seconds=4))
    assert decided(active, seconds=19).failure is None
    failure = decided(active, seconds=20).failure
    assert failure is not None
    assert "no replica has started within 10 s" in failure.message
    slow = dataclasses.replace(active, started_in=timedelta(seconds=50))
    assert decided(slow, seconds=109).failure is None
    assert decided(slow, seconds=110).failure is not None
    asked = Policy(start_timeout=timedelta(minutes=20))
    assert decided(active, seconds=1209, policy=asked).failure is None


def test_how_long_the_first_config_took_is_noted_once() -> None:
    active = cluster(status=RUNNING, deployed_at=START)
    (change,) = [change for change in decided(active, seconds=7).annotate if change.started_in is not None]
    assert change.started_in == timedelta(seconds=7)
    noted = dataclasses.replace(active, started_in=timedelta(seconds=7))
    assert all(change.started_in is None for change in decided(noted, seconds=60).annotate)


def _hanging(config: str = "config-2", **given: Any) -> ChildCluster:
    active = dataclasses.replace(cluster(deserted=True, reconfiguring=True), deserted_since=START, config=config)
    return dataclasses.replace(active, started_in=timedelta(seconds=4), **given)


def test_a_reconfigure_that_does_not_return_is_taken_back_and_its_cluster_replaced() -> None:
    assert decided(_hanging(), seconds=19).failure is None
    decision = decided(_hanging(), seconds=20)
    assert decision.failure is not None
    assert decision.failure.message.startswith("Application app: reconfigure has not returned within 10 s")
    assert [change.config for change in decision.annotate] == ["config-1"]
    back = State(
        dataclasses.replace(A, config="config-2"), Policy(), (_hanging("config-1"),), "c1", failure=decision.failure
    )
    replacing = decide(back, START + timedelta(seconds=21))
    assert replacing.create is not None
    assert (replacing.create.cluster_hash, replacing.create.config) == ("cluster-a", "config-1")
    assert replacing.failure == decision.failure
    answers = dataclasses.replace(back, clusters=(dataclasses.replace(cluster(), config="config-1"),))
    assert decide(answers, START + timedelta(seconds=21)).create is None


def test_a_corrected_config_does_not_go_to_a_cluster_whose_replica_never_returns() -> None:
    corrected = State(dataclasses.replace(A, config="config-3"), Policy(), (_hanging("config-1"),), "c1")
    decision = decide(corrected, START + timedelta(seconds=21))
    assert decision.create is not None
    assert decision.create.config == "config-3"
    early = decide(corrected, START + timedelta(seconds=5))
    assert early.create is None, "reconfigure may return"
    assert [change.config for change in early.annotate] == ["config-3"]


def _replacing(release: Release, *clusters: ChildCluster) -> Decision:
    return decide(State(release, Policy(), clusters, "c1"), START + timedelta(seconds=21))


def test_a_new_operator_goes_on_replacing_a_stuck_cluster_before_its_dashboard_has_answered() -> None:
    unseen = _hanging("config-1", serve=None)
    for wanted in ("config-3", "config-1"):
        successor = ChildCluster("c2", "cluster-a", wanted, created=_LATER, progress="begun")
        decision = _replacing(dataclasses.replace(A, config=wanted), unseen, successor)
        assert decision.delete == ()
        assert decision.pending == successor
        assert "c1" not in [change.cluster for change in decision.annotate]


def test_a_corrected_config_waits_for_a_dashboard_that_may_tell_that_the_cluster_is_stuck() -> None:
    corrected = dataclasses.replace(A, config="config-3")
    waiting = _replacing(corrected, _hanging("config-1", serve=None))
    assert (waiting.annotate, waiting.create) == ((), None)
    assert waiting.readiness is not None
    assert waiting.readiness.reason == "ConfigNotSent"
    headless = _replacing(corrected, _hanging("config-1", serve=None, head_ready=False))
    assert [change.config for change in headless.annotate] == ["config-3"], "another head has other replicas"


def test_the_replacement_of_a_stuck_cluster_is_tried_some_times_with_pauses() -> None:
    good = dataclasses.replace(A, config="config-1")
    assert _replacing(good, _hanging("config-1")).create is not None
    paused = _replacing(good, _hanging("config-1", remedies=1, unhealthy_since=START))
    assert paused.create is None
    assert not paused.exhausted
    assert paused.requeue_at == START + Policy().progress_deadline
    long_ago = START - Policy().progress_deadline
    again = _replacing(good, _hanging("config-1", remedies=2, unhealthy_since=long_ago))
    assert again.create is not None
    assert again.remedies == 3
    left = _replacing(good, _hanging("config-1", remedies=3, unhealthy_since=long_ago))
    assert left.create is None
    assert left.exhausted


def test_a_config_that_came_after_the_last_replica_went_is_looked_at_again_when_its_own_time_is_over() -> None:
    active = dataclasses.replace(cluster(deserted=True), deserted_since=START, started_in=timedelta(seconds=5))
    active = dataclasses.replace(active, progressed_at=START + timedelta(seconds=15))
    assert decided(active, seconds=21).requeue_at == START + timedelta(seconds=25)
    due = decided(active, seconds=26)
    assert due.failure is None
    assert due.requeue_at == START + timedelta(seconds=35)
    assert decided(active, seconds=35).failure is not None


def test_the_time_to_find_a_node_is_a_setting() -> None:
    active = dataclasses.replace(cluster(deserted=True, unscheduled=_WHY), deserted_since=START)
    policy = Policy(scheduling_timeout=timedelta(minutes=3))
    assert decided(active, seconds=60, policy=policy).failure is None
    assert decided(active, seconds=180, policy=policy).failure is not None


def test_a_first_config_that_fits_nowhere_has_nothing_to_go_back_to() -> None:
    active = dataclasses.replace(cluster(deserted=True, unscheduled=_WHY), deserted_since=START, good_config="")
    assert decided(active, seconds=60).failure is None


def _pending(missing: str) -> ChildCluster:
    serve = ServeState("config-1", (Application("app", RUNNING),))
    return ChildCluster(
        "c2", "cluster-b", "config-1", created=START, head_ready=True, endpoints=1, serve=serve,
        applications=frozenset({"app"}), missing=missing,
    )  # fmt: skip


def _upgrade(pending: ChildCluster, policy: Policy | None = None, *, first: bool = False) -> Decision:
    active = dataclasses.replace(_pending(""), name="c1", cluster_hash="cluster-a", promoted=True)
    clusters = (pending,) if first else (active, pending)
    return decide(State(B, policy or Policy(), clusters, "" if first else "c1"), START)


def test_an_upgrade_waits_for_the_workers_that_it_asks_for() -> None:
    missing = "1 of 2 pods of worker group small are running"
    waiting = _upgrade(_pending(missing))
    assert waiting.switch_to == ""
    assert waiting.readiness is not None
    assert waiting.readiness.reason == "WorkersMissing"
    assert missing in waiting.readiness.message
    assert _upgrade(_pending("")).switch_to == "c2"


def test_an_upgrade_may_be_told_not_to_wait_for_workers() -> None:
    assert _upgrade(_pending("1 of 2"), Policy(wait_for_workers=False)).switch_to == "c2"


def test_a_first_release_serves_with_the_workers_that_run() -> None:
    assert _upgrade(_pending("1 of 2"), first=True).switch_to == "c2"
