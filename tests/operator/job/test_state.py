from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJob
from rayward.operator.cluster.pod import RayPod
from rayward.operator.job import annotations as memory
from rayward.operator.job import registration
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.decide import decide
from rayward.operator.job.facts import Cluster, Ray, Submitter
from rayward.operator.job.finalize import finalize
from rayward.operator.job.observe import Local, Observed, state_of
from rayward.operator.job.state import Action, RayView, State
from tests.kinds.clusters import job_manifest
from tests.operator.job.stage import JobHeads
from tests.operator.job.world import World, job

RUNS = RayView(True, "shared#0", JobStatus.RUNNING)
UNKNOWN = RayView(True, "shared#0")
_SOURCES: Final = [
    inspect.getsource(sys.modules[decide.__module__]),
    inspect.getsource(sys.modules[finalize.__module__]),
]
_REASON: Final = re.compile(r'\bEvent\("(\w+)"')


@pytest.mark.parametrize(
    ("said", "lost", "expected"),
    [
        (JobStatus.RUNNING, False, Ray.RUNNING),
        # A head that keeps its state calls a job RUNNING though its driver died with the head before.
        (JobStatus.RUNNING, True, Ray.LOST),
        (JobStatus.PENDING, True, Ray.LOST),
        # What Ray wrote down before the node died is true.
        (JobStatus.SUCCEEDED, True, Ray.SUCCEEDED),
        (JobStatus.FAILED, True, Ray.FAILED),
    ],
)
def test_a_job_whose_drivers_node_died_does_not_run(said: JobStatus, lost: bool, expected: Ray) -> None:
    job = msgspec.convert(job_manifest(), RayJob)
    attempt = Attempt(1, "j-abcde", "j-abcde", session="s", **memory.frozen(job.spec))
    state = State(job, attempt, job.spec, ray=RayView(True, "s", said, driver_lost=lost))
    assert state.facts(datetime.now(UTC)).ray is expected


def test_an_operator_that_was_away_asks_before_it_calls_a_head_silent() -> None:
    """The silence on record is older than the time it may last, and nobody knows whether it went on."""
    world = World(job())
    for _ in range(4):
        world.step()
        world.settle()
    world.down = True
    for _ in range(3):
        world.step()
        world.settle()
    assert world.attempt is not None
    assert world.attempt.silent_since
    assert world.job.status.job_status_check_failure_start_time == world.attempt.silent_since
    world.away()
    assert world.step().wake_at == world.now + timedelta(seconds=10)
    assert world.phase is Phase.RUNNING
    world.settle(10)
    world.step()
    assert (world.phase, world.job.status.reason) == (Phase.FAILED, "OutcomeUnknown")
    assert world.job.status.job_status_check_failure_start_time is None


def _deleted(view: RayView, seconds: int, submitter: Submitter = Submitter.NONE, **more: Any) -> tuple[list[str], bool]:
    """What is done about a deleted job on somebody else's cluster so many seconds later, and whether it waits."""
    world = World(job(clusterSelector={"ray.io/cluster": "shared"}, submissionMode=more.pop("mode", "HTTPMode")))
    world.clusters["shared"] = Cluster.READY
    for _ in range(4):
        world.step()
        world.settle()
    assert world.phase is Phase.RUNNING
    deleted = world.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = msgspec.structs.replace(world.job.metadata, deletion_timestamp=deleted)
    world.job = msgspec.structs.replace(world.job, metadata=metadata)
    world.now += timedelta(seconds=seconds)
    state = dataclasses.replace(world.state(view), deleting=True, submitter=submitter, **more)
    decision = decide(state, world.now)
    return [action.value for action in decision.actions], decision.wake_at is not None


@pytest.mark.parametrize(
    ("view", "seconds", "submitter", "does", "waits"),
    [
        pytest.param(RUNS, 5, Submitter.NONE, ["Stop"], True, id="it is stopped"),
        pytest.param(
            RUNS, 9999, Submitter.NONE, ["Stop", "RemoveFinalizer"], False, id="also where the operator was away"
        ),
        pytest.param(RayView(), 9999, Submitter.NONE, [], True, id="a head that was not asked yet is asked first"),
        pytest.param(UNKNOWN, 5, Submitter.NONE, ["RemoveFinalizer"], False, id="Ray does not have it"),
        pytest.param(UNKNOWN, 5, Submitter.ACTIVE, ["DeleteSubmitter"], True, id="a submitter goes first"),
        pytest.param(UNKNOWN, 301, Submitter.ACTIVE, ["DeleteSubmitter", "RemoveFinalizer"], False, id="not for long"),
    ],
)
def test_a_deleted_job_does_not_run_on_somebody_elses_cluster(
    view: RayView, seconds: int, submitter: Submitter, does: list[str], waits: bool
) -> None:
    mode = "HTTPMode" if submitter is Submitter.NONE else "K8sJobMode"
    assert _deleted(view, seconds, submitter, mode=mode) == (does, waits)


@pytest.mark.parametrize(("headless", "does", "waits"), [(True, ["RemoveFinalizer"], False), (False, [], True)])
def test_a_deletion_waits_for_a_head_that_is_not_ready_and_not_for_none(
    headless: bool, does: list[str], waits: bool
) -> None:
    assert _deleted(RayView(), 5, cluster=Cluster.STARTING, headless=headless) == (does, waits)


def _suspended_on(**more: Any) -> World:
    """A job on somebody else's cluster that is being suspended, and the cluster is not ready any more."""
    world = World(job(clusterSelector={"ray.io/cluster": "shared"}))
    world.clusters["shared"] = Cluster.READY
    for _ in range(4):
        world.step()
        world.settle()
    world.edit(suspend=True)
    world.step()
    assert world.phase is Phase.SUSPENDING
    decision = decide(dataclasses.replace(world.state(RayView(), Cluster.STARTING), **more), world.now)
    world.attempt, world.job = decision.attempt, msgspec.structs.replace(world.job, status=decision.status)
    return world


def test_a_suspension_waits_for_a_head_that_is_not_ready_and_not_for_none() -> None:
    assert _suspended_on().phase is Phase.SUSPENDING
    world = _suspended_on(headless=True)
    assert world.phase is Phase.SUSPENDED
    assert world.attempt is not None
    assert not world.attempt.unstopped


def test_a_stop_that_is_owed_is_settled_when_the_head_is_gone() -> None:
    world = _suspended_on(headless=True)
    assert world.attempt is not None
    world.attempt = msgspec.structs.replace(world.attempt, unstopped=True)
    world.edit(suspend=False)
    state = world.state(RayView(), Cluster.STARTING)
    assert decide(state, world.now).status.job_deployment_status == Phase.SUSPENDED
    begun = decide(dataclasses.replace(state, headless=True), world.now)
    assert begun.status.job_deployment_status == Phase.INITIALIZING


_CLUSTER: Final = {"metadata": {"name": "c"}}
_FAULT_TOLERANT: Final = {"metadata": {"name": "c", "annotations": {"ray.io/ft-enabled": "true"}}}


@pytest.mark.parametrize(
    ("cluster", "phase", "headless"),
    [
        pytest.param(_CLUSTER, None, True, id="no pod"),
        pytest.param(_CLUSTER, "Failed", True, id="it ended"),
        pytest.param(_CLUSTER, "Running", False, id="it runs, ready or not"),
        pytest.param(_FAULT_TOLERANT, None, False, id="the next one knows the jobs of this one"),
        pytest.param(None, None, False, id="no cluster"),
    ],
)
def test_a_cluster_without_a_head_is_headless(cluster: Any, phase: str | None, headless: bool) -> None:
    world = World(job())
    head = msgspec.convert({"metadata": {"name": "h"}, "status": {"phase": phase}}, RayPod) if phase else None
    found = msgspec.convert(cluster, RayCluster) if cluster else None
    observed = Observed(world.job, None, found, head, None, "", None, "", None)
    assert state_of(observed, RayView(), Local(), world.now).headless is headless


def test_what_is_told_once_and_nowhere_else_is_never_dropped() -> None:
    """A spec that is rejected is a condition, too."""
    told = {reason for text in _SOURCES for reason in _REASON.findall(text)}
    assert {"NotStopped", "NoDeletionRule", "JobIdTaken"} <= told
    assert told - {"InvalidRayJobSpec"} <= registration(JobHeads()).decisions


def test_a_deletion_that_gives_up_on_a_silent_head_says_what_may_still_run() -> None:
    world = World(job(clusterSelector={"ray.io/cluster": "shared"}))
    world.clusters["shared"] = Cluster.READY
    for _ in range(4):
        world.step()
        world.settle()
    (run,) = world.runs
    world.down = True
    world.delete()
    began = world.now
    while not world.gone:
        world.settle(10)
        world.step()
    assert timedelta(seconds=300) <= world.now - began < timedelta(seconds=330)
    (told,) = world.decisions[-1].events
    assert (told.reason, told.warning) == ("NotStopped", True)
    assert f"Job {run.job_id} may still run on RayCluster shared" in told.message


def test_a_preemption_counts_for_no_failure_and_leaves_the_rows_of_before() -> None:
    """The quota gate suspends and resumes as a user does."""
    world = World(job(backoffLimit=1))

    def plays(until: Phase) -> None:
        for _ in range(20):
            world.step()
            world.settle()
            if world.phase is until and (until is not Phase.RUNNING or world.run is not None):
                return

    plays(Phase.RUNNING)
    world.end(JobStatus.FAILED)
    world.step()
    (before,) = list(world.job.status.attempts or ())
    assert world.job.status.failed == 1
    plays(Phase.RUNNING)
    for _ in range(3):
        world.edit(suspend=True)
        plays(Phase.SUSPENDED)
        world.edit(suspend=False)
        plays(Phase.RUNNING)
    first, *others = list(world.job.status.attempts or ())
    assert world.job.status.failed == 1
    assert [row.reason for row in others] == ["Suspended"] * 3
    # the log of the first is read before its cluster goes; nothing else of its row changes
    assert msgspec.structs.replace(first, log_tail=before.log_tail) == before
    world.end(JobStatus.SUCCEEDED)
    world.step()
    assert (world.phase, world.job.status.failed, len(world.runs)) == (Phase.COMPLETE, 1, 5)


def test_a_head_that_runs_once_is_lost_once_its_submitter_had_its_time() -> None:
    """It may be about to say how the job ended."""
    world = World(job(submissionMode="SidecarMode"))
    for _ in range(4):
        world.step()
        world.settle()
        world.submitter_works()
    assert world.phase is Phase.RUNNING
    world.head_restarts()
    for _ in range(2):
        world.step()
        assert world.decisions[-1].actions == (Action.READ_SUBMITTER_LOG,)
        world.settle(15)
    world.step()
    assert (world.phase, world.job.status.reason) == (Phase.FAILED, "OutcomeUnknown")
    assert "its successor" not in world.job.status.message


def test_a_refusal_is_of_one_cluster() -> None:
    world = World(job(jobId="chosen", backoffLimit=1))
    for _ in range(2):
        world.step()
        world.settle()
    refused = dataclasses.replace(world.state(), refusal="Ray refused the job: no such field")
    decision = decide(refused, world.now)
    assert (decision.status.job_deployment_status, decision.status.reason) == ("Retrying", "SubmissionFailed")
    assert decision.status.message == "Ray refused the job: no such field"


def test_an_edit_before_there_is_a_cluster_counts() -> None:
    """Its creation may be refused for a while; then the names of the attempt follow the edit too."""
    world = World(job(jobId="first"))
    world.step(dies_after=2)
    assert (world.phase, world.cluster, world.job.status.job_id) == (Phase.INITIALIZING, Cluster.ABSENT, "first")
    world.edit(job_id="second", entrypoint="other")
    world.step()
    world.settle()
    for _ in range(3):
        world.step()
    assert world.job.status.job_id == "second"
    assert [run.job_id for run in world.runs] == ["second"]
    assert not [each for each in world.job.status.conditions or () if each.type == "SpecInUse"]


def test_an_operator_that_dies_between_the_record_and_the_status_of_an_edit_goes_on() -> None:
    world = World(job(clusterSelector={"ray.io/cluster": "typo"}))
    for _ in range(2):
        world.step()
        world.settle()
    world.clusters["shared"] = Cluster.READY
    world.edit(cluster_selector={"ray.io/cluster": "shared"})
    world.step(dies_after=1)
    assert (world.attempt and world.attempt.cluster, world.name) == ("shared", "typo")
    for _ in range(4):
        world.step()
        world.settle()
    assert (world.phase, world.name, len(world.runs)) == (Phase.RUNNING, "shared", 1)
