"""Whatever is seen, late or not at all: no attempt runs twice, and the end is what Ray said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus
from rayward.operator.job.facts import Cluster, Submitter
from rayward.operator.job.state import RayView
from tests.operator.job.world import World, job

SHARED = "shared"
KINDS = {
    "http": {"submissionMode": "HTTPMode"},
    "job": {"submissionMode": "K8sJobMode"},
    "http with an id": {"submissionMode": "HTTPMode", "jobId": "chosen"},
    "job with an id": {"submissionMode": "K8sJobMode", "jobId": "chosen"},
    "sidecar": {"submissionMode": "SidecarMode"},
    "user": {"submissionMode": "InteractiveMode"},
    "http on a cluster that is there": {"submissionMode": "HTTPMode", "clusterSelector": {"ray.io/cluster": SHARED}},
    "job on a cluster that is there": {"submissionMode": "K8sJobMode", "clusterSelector": {"ray.io/cluster": SHARED}},
    "user on a cluster that is there": {
        "submissionMode": "InteractiveMode",
        "clusterSelector": {"ray.io/cluster": SHARED},
    },
}
SELECTED = "http on a cluster that is there"
RUNS = ["reconcile", "time"] * 3
SILENCED = ["head down", "suspend", "reconcile", *["time", "reconcile"] * 3, *["long time", "reconcile"] * 2]
"""A job is suspended while its head is silent."""
THINGS = st.sampled_from(
    [
        "reconcile",
        "reconcile blind",
        "reconcile with an old view",
        "reconcile with an old cluster",
        "die before a write",
        "die after a write",
        "time",
        "long time",
        "nothing starts for long",
        "operator is away",
        "reconcile without a cluster in sight",
        "user submits",
        "submitter works",
        "submitter ends",
        "submitter fails",
        "submitter says it",
        "submitter contradicts ray",
        "job succeeds",
        "job fails",
        "head restarts",
        "head down",
        "head up",
        "head blinks",
        "cluster deleted",
        "suspend",
        "resume",
        "invalid edit",
        "edit mended",
        "edit",
    ]
)


def _happens(world: World, thing: str) -> None:
    match thing:
        case "reconcile":
            world.looks.append(world.view())
            world.step()
        case "reconcile blind":
            world.step(RayView())
        case "reconcile with an old view":
            # a poller forgets what it saw of another cluster
            known = [view for view in world.looks if view.session.startswith(f"{world.name}#")]
            world.step(known[world.made % len(known)] if known else None)
        case "reconcile with an old cluster":
            world.step(cluster=world.lagging)
        case "user submits":
            world.user_submits()
        case "die before a write":
            world.step(dies_after=0)
        case "die after a write":
            world.step(dies_after=1)
        case "time":
            world.settle()
        case "long time":
            world.settle(400)
        case "nothing starts for long":
            if world.cluster is Cluster.STARTING:
                world.now += timedelta(seconds=400)
        case "operator is away":
            world.away()
        case "reconcile without a cluster in sight":
            # one that was just made; a cluster that clusterSelector names was there before
            if not world.job.spec.cluster_selector:
                world.step(cluster=Cluster.ABSENT)
        case "head blinks":
            world.down = True
            world.step()
            world.settle()
            world.step()
            world.down = False
            world.step()
        case "submitter works":
            world.submitter_works()
        case "submitter ends":
            if world.submitter is Submitter.ACTIVE:
                world.submitter = Submitter.UNREAD
                world.looks.clear()
        case "submitter fails":
            if world.submitter in (Submitter.ACTIVE, Submitter.UNREAD):
                world.submitter = Submitter.FAILED
                world.looks.clear()
        case "submitter says it":
            run = world.run
            words = {
                JobStatus.SUCCEEDED: Submitter.SAID_SUCCEEDED,
                JobStatus.FAILED: Submitter.SAID_FAILED,
                JobStatus.STOPPED: Submitter.SAID_STOPPED,
            }
            if world.submitter in (Submitter.ACTIVE, Submitter.UNREAD) and run is not None and run.status in words:
                world.submitter = words[run.status]
        case "submitter contradicts ray":
            run, before = world.run, world.submitter
            if before is not Submitter.NONE and run is not None and world.view().answered:
                wrong = Submitter.SAID_FAILED if run.status is JobStatus.SUCCEEDED else Submitter.SAID_SUCCEEDED
                world.submitter = wrong
                world.step()
                world.submitter = before
        case "job succeeds":
            world.end(JobStatus.SUCCEEDED)
        case "job fails":
            world.end(JobStatus.FAILED)
        case "head restarts":
            world.head_restarts()
        case "head down":
            world.down = True
        case "head up":
            world.down = False
        case "cluster deleted":
            world.delete_cluster()
        case "suspend":
            world.edit(suspend=True)
        case "resume":
            world.edit(suspend=False)
        case "invalid edit":
            world.problems = "spec.backoffLimit: -1 is less than 0"
        case "edit mended":
            world.problems = ""
        case _:
            world.edit(entrypoint=f"run {world.made}")


def _check(world: World) -> None:
    started = [(run.cluster, run.job_id) for run in world.runs]
    assert len(started) == len(set(started)), "an attempt ran twice"
    status = world.job.status
    truth = {(run.cluster, run.job_id): run.status for run in world.runs}.get((status.ray_cluster_name, status.job_id))
    if status.job_deployment_status == Phase.COMPLETE:
        assert status.job_status in (JobStatus.SUCCEEDED, JobStatus.STOPPED)
        assert truth == status.job_status
    if status.job_deployment_status == Phase.FAILED:
        if status.job_status == JobStatus.FAILED:
            assert truth is JobStatus.FAILED
        else:
            assert status.job_status == JobStatus.NEW
        if status.reason == "AppFailed":
            assert truth is JobStatus.FAILED
        if status.reason == "SubmissionFailed":
            assert truth is None, "it was submitted after all"
    said = {"Succeeded": JobStatus.SUCCEEDED, "AppFailed": JobStatus.FAILED, "Stopped": JobStatus.STOPPED}
    truths = {(run.cluster, run.job_id): run.status for run in world.runs}
    for row in status.attempts or ():
        truth = truths.get((row.ray_cluster_name, row.job_id))
        assert row.job_status not in (JobStatus.PENDING, JobStatus.RUNNING)
        if row.reason in said:
            assert truth is said[row.reason]
        if row.reason == "SubmissionFailed":
            assert truth is None, "it was submitted after all"
    # A cluster of its own that was made a moment before goes with the next reconcile.
    suspended = status.job_deployment_status == Phase.SUSPENDED and bool(world.job.spec.cluster_selector)
    if suspended and not (world.attempt is not None and world.attempt.unstopped):
        assert not world.left_running, "suspended, and it runs"
    reasons = [row.reason for row in status.attempts or ()]
    if not world.retry_unknown:
        assert "OutcomeUnknown" not in reasons[:-1], "it was tried again and nobody asked for that"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    limit=st.integers(0, 2),
    things=st.lists(THINGS, max_size=60),
    then=st.sampled_from([JobStatus.SUCCEEDED, JobStatus.FAILED]),
    deadlines=st.tuples(st.sampled_from([None, 30, 600]), st.sampled_from([None, 20, 500])),
    retry_unknown=st.booleans(),
)
def test_every_life_ends_once_and_truly(
    kind: str,
    limit: int,
    things: list[str],
    then: JobStatus,
    deadlines: tuple[int | None, int | None],
    retry_unknown: bool,
) -> None:
    spec: dict[str, Any] = {**KINDS[kind], "backoffLimit": limit if kind in ("http", "job", "sidecar") else 0}
    spec |= {"activeDeadlineSeconds": deadlines[0], "preRunningDeadlineSeconds": deadlines[1]}
    world = World(job(**spec), retry_unknown=retry_unknown)
    if "clusterSelector" in spec:
        world.clusters[SHARED] = Cluster.READY
    for thing in things:
        _happens(world, thing)
        _check(world)
    # Then nothing breaks any more: the job must come to its end within a bound.
    world.problems, world.down = "", False
    world.edit(suspend=False)
    for _ in range(60 * (limit + 2)):
        if "clusterSelector" in spec:
            world.clusters.setdefault(SHARED, Cluster.STARTING)
        world.step()
        _check(world)
        world.submitter_works()
        world.user_submits()
        if world.submitter is Submitter.UNREAD:
            world.submitter = Submitter.ENDED
        world.end(then)
        world.settle()
        if world.phase.ended:
            break
    assert world.phase.ended, world.decisions[-3:]
    _check(world)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    things=st.lists(THINGS, max_size=40),
    after=st.lists(THINGS, max_size=20),
)
@example(SELECTED, RUNS, ["head down", *["reconcile", "time"] * 8, "head up"])
@example(SELECTED, [*RUNS, *SILENCED], ["head up"])
@example("job on a cluster that is there", RUNS, ["head down", *["reconcile", "time"] * 8, "head up"])
def test_a_job_that_is_deleted_goes_and_leaves_nothing_that_runs_on_a_head_that_answers(
    kind: str, things: list[str], after: list[str]
) -> None:
    spec = KINDS[kind]
    world = World(job(**spec))
    if "clusterSelector" in spec:
        world.clusters[SHARED] = Cluster.READY
    for thing in things:
        _happens(world, thing)
    world.delete()
    for thing in after:
        if not world.gone:
            _happens(world, thing)
            _check(world)
    world.down = False
    for _ in range(80):
        if world.gone:
            break
        world.step()
        world.submitter_works()
        world.settle()
    assert world.gone
    # What belongs to the job goes with it: a cluster of its own, a submitter that has not come.
    given_up = any(event.reason == "NotStopped" for event in world.decisions[-1].events)
    if "clusterSelector" in spec and not given_up and not world.phase.ended:
        assert not world.left_running, "deleted, and it runs"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(sorted(KINDS)), things=st.lists(THINGS, max_size=40))
@example(SELECTED, [*RUNS, *SILENCED])
@example(SELECTED, [*RUNS, *SILENCED, "resume", "reconcile", "time", "reconcile"])
@example("job on a cluster that is there", [*RUNS, "submitter works", *SILENCED])
@example("sidecar", ["reconcile", "suspend", "reconcile", "reconcile without a cluster in sight"])
@example("user on a cluster that is there", [*RUNS, "user submits", "job succeeds"])
@example("user on a cluster that is there", [*RUNS, "user submits", "suspend", *["reconcile", "time"] * 3, "resume"])
def test_a_job_that_is_suspended_leaves_nothing_that_runs_once_its_head_answers(kind: str, things: list[str]) -> None:
    world = World(job(**KINDS[kind]))
    if "clusterSelector" in KINDS[kind]:
        world.clusters[SHARED] = Cluster.READY
    for thing in things:
        _happens(world, thing)
        _check(world)
    world.problems, world.down = "", False
    world.edit(suspend=True)
    for _ in range(60):
        world.step()
        _check(world)
        world.submitter_works()
        if world.submitter is Submitter.UNREAD:
            world.submitter = Submitter.ENDED
        world.settle()
    assert world.phase is Phase.SUSPENDED or world.phase.ended
    if world.phase is Phase.SUSPENDED:
        assert not world.left_running


HARMLESS = st.sampled_from(
    [
        "reconcile",
        "die before a write",
        "die after a write",
        "time",
        "nothing starts for long",
        "operator is away",
        "head blinks",
        "submitter works",
    ]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    slow=st.booleans(),
    things=st.lists(HARMLESS, max_size=40),
    then=st.sampled_from([JobStatus.SUCCEEDED, JobStatus.FAILED]),
)
def test_while_nothing_is_lost_the_first_attempt_ends_as_ray_said(
    kind: str, slow: bool, things: list[str], then: JobStatus
) -> None:
    """Whatever takes long, and however often the operator dies: nothing is given up that goes on."""
    world = World(job(**KINDS[kind]))
    if "clusterSelector" in KINDS[kind]:
        world.clusters[SHARED] = Cluster.READY
    for thing in ["reconcile", "nothing starts for long", *things] if slow else things:
        _happens(world, thing)
        assert not world.phase.ended, world.decisions[-1]
    for _ in range(40):
        world.step()
        world.submitter_works()
        world.user_submits()
        world.settle()
    assert world.phase is Phase.RUNNING
    world.end(then)
    world.step()
    assert world.job.status.job_status == then
    assert len(world.runs) == 1


def test_a_head_that_is_silent_for_ever_does_not_keep_a_job_running() -> None:
    world = World(job())
    for _ in range(4):
        world.step()
        world.settle()
    assert world.phase is Phase.RUNNING
    assert len(world.runs) == 1
    world.down = True
    for _ in range(70):
        world.step()
        world.settle()
    assert (world.phase, world.job.status.reason) == (Phase.FAILED, "OutcomeUnknown")
    assert world.job.status.job_status == ""
