"""What is done about a job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from rayward.local.controllers.jobs.backoff import Failures
from rayward.local.controllers.jobs.decide import Decision, decide
from rayward.local.controllers.jobs.job import JobStatus, SeenJob, Uncounted
from rayward.local.controllers.pods import SeenPod
from tests.controllers.jobworld import START, job_of, pod_of


def _decide(job: SeenJob, *pods: SeenPod, after: float = 0.0) -> Decision:
    return decide(job, pods, Failures(), START + timedelta(seconds=after))


def _running(count: int, **more: Any) -> list[SeenPod]:
    return [pod_of(f"r{number}", "Running", **more) for number in range(count)]


def _done(count: int) -> list[SeenPod]:
    return [pod_of(f"d{number}", "Succeeded") for number in range(count)]


@pytest.mark.parametrize(
    ("spec", "pods", "made", "dropped"),
    [
        ({"parallelism": 3, "completions": 5}, [], 3, 0),
        ({"parallelism": 3, "completions": 2}, [], 2, 0),
        ({"parallelism": 0, "completions": 2}, [], 0, 0),
        ({"parallelism": 3, "completions": 5}, [*_running(2), *_done(1)], 1, 0),
        ({"parallelism": 3, "completions": 3}, [*_running(2), *_done(1)], 0, 0),
        ({"parallelism": 1, "completions": 5}, _running(3), 0, 2),
        ({"parallelism": 3}, [], 3, 0),
        ({"parallelism": 3}, [*_running(1), *_done(1)], 0, 0),
        ({"parallelism": 3, "completions": 5, "suspend": True}, _running(3), 0, 3),
        ({"parallelism": 600, "completions": 600}, [], 500, 0),
    ],
    ids=[
        "as many as at once",
        "as many as are left",
        "none at once",
        "one more",
        "the last are running",
        "too many",
        "no number of completions",
        "and one success: no more are made",
        "suspended",
        "not too many in one go",
    ],
)
def test_pods_are_made_and_given_up(spec: dict[str, Any], pods: list[SeenPod], made: int, dropped: int) -> None:
    decision = _decide(job_of(**spec), *pods)
    assert (len(decision.create), len(decision.drop)) == (made, dropped)


def test_a_pod_that_ended_is_written_down_and_then_released() -> None:
    job = job_of(completions=2, parallelism=1)
    first = _decide(job, *_done(1))
    assert first.status.uncounted_terminated_pods == Uncounted(succeeded=("d0",))
    assert (first.status.succeeded, [pod.metadata.uid for pod in first.release]) == (0, ["d0"])
    second = _decide(job_of(first.status, completions=2, parallelism=1), pod_of("d0", "Succeeded", released=True))
    assert second.status.uncounted_terminated_pods == Uncounted()
    assert (second.status.succeeded, second.release) == (1, ())


def test_a_pod_that_is_gone_and_was_written_down_is_counted() -> None:
    status = JobStatus(uncounted_terminated_pods=Uncounted(failed=("gone",)))
    assert _decide(job_of(status)).status.failed == 1


@pytest.mark.parametrize(
    ("spec", "pods", "reason"),
    [
        ({"backoffLimit": 0}, [pod_of("f", "Failed")], "BackoffLimitExceeded"),
        ({"backoffLimit": 0}, [pod_of("f", "Running", deleting=True)], "BackoffLimitExceeded"),
        ({"activeDeadlineSeconds": 5}, _running(1), "DeadlineExceeded"),
        (
            {"backoffLimit": 2, "template": {"spec": {"restartPolicy": "OnFailure"}}},
            [pod_of("r", "Running", restarts=2)],
            "BackoffLimitExceeded",
        ),
        ({"podFailurePolicy": {"rules": []}}, [], "FeatureNotAvailable"),
        ({"successPolicy": {"rules": []}}, [], "FeatureNotAvailable"),
        ({"backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 1}, [], "FeatureNotAvailable"),
        ({"podFailurePolicy": {"rules": []}, "suspend": True}, [], "FeatureNotAvailable"),
    ],
    ids=[
        "a failure too many",
        "a deletion too many",
        "too late",
        "restarted too often",
        "podFailurePolicy",
        "successPolicy",
        "backoffLimitPerIndex",
        "podFailurePolicy, suspended",
    ],
)
def test_a_job_fails(spec: dict[str, Any], pods: list[SeenPod], reason: str) -> None:
    begun = JobStatus(start_time=None if spec.get("suspend") else "2026-01-01T00:00:00Z")
    decision = _decide(job_of(begun, **spec), *pods, after=5)
    assert decision.create == ()
    assert set(decision.delete) == {pod for pod in pods if not pod.over and not pod.deleting}
    target = decision.status.condition("FailureTarget")
    assert target is not None
    assert target.reason == reason
    assert (decision.status.condition("Failed") is not None) == (not pods), "it has failed when no pod is left"
    if not pods:
        assert decision.status.start_time, "which a server asks for"
        assert [event.reason for event in decision.events] == [reason]


def test_a_refusal_says_what_to_do() -> None:
    (event,) = _decide(job_of(podFailurePolicy={"rules": []})).events
    assert event.message == (
        "spec.podFailurePolicy is not available in this cluster; remove it and create the Job again"
    )


def test_pods_of_a_failed_job_that_had_not_ended_count_as_failed() -> None:
    decision = _decide(job_of(backoffLimit=0, parallelism=2, completions=2), pod_of("f", "Failed"), *_running(1))
    assert decision.status.uncounted_terminated_pods == Uncounted(failed=("f", "r0"))
    assert (decision.status.active, decision.status.terminating) == (0, 1)


@pytest.mark.parametrize(
    ("ages", "left"),
    [([0], 10), ([4], 6), ([11], None), ([0, 30], 20), ([0, 30, 60], 40), ([0] * 12, 600)],
    ids=["the first", "a moment ago", "long ago", "the second", "the third", "no longer than ten minutes"],
)
def test_a_failed_pod_is_replaced_after_a_while(ages: list[float], left: float | None) -> None:
    pods = [pod_of(f"f{n}", "Failed", when=START + timedelta(seconds=100 - age)) for n, age in enumerate(ages)]
    decision = decide(job_of(backoffLimit=99), pods, Failures(), START + timedelta(seconds=100))
    assert decision.again_after == left
    assert len(decision.create) == (left is None)


def test_a_success_makes_earlier_failures_forgotten() -> None:
    pods = [pod_of("f", "Failed"), pod_of("s", "Succeeded", when=START + timedelta(seconds=1))]
    assert len(_decide(job_of(completions=2, parallelism=1), *pods, after=2).create) == 1


def test_a_failed_pod_that_is_gone_is_remembered() -> None:
    job = job_of(backoffLimit=9)
    known = decide(job, [pod_of("f", "Running", deleting=True)], Failures(), START).failures
    assert decide(job, [], known, START).again_after == 10


def test_a_deadline_is_looked_at_in_time() -> None:
    begun = JobStatus(start_time="2026-01-01T00:00:00Z")
    assert _decide(job_of(begun, activeDeadlineSeconds=30), *_running(1), after=10).again_after == 20


def _indexed(**spec: Any) -> dict[str, Any]:
    return {"completionMode": "Indexed", "parallelism": 3, "completions": 4, **spec}


@pytest.mark.parametrize(
    ("pods", "made", "dropped"),
    [
        ([], (0, 1, 2), ()),
        ([pod_of("a", "Running", index=0), pod_of("b", "Running", index=2)], (1,), ()),
        ([pod_of("a", "Succeeded", index=0), pod_of("b", "Running", index=2)], (1, 3), ()),
        ([pod_of("a", "Running", index=1), pod_of("b", "Pending", index=1)], (), ("b",)),
        ([pod_of("a", "Running", index=9)], (), ("a",)),
        ([pod_of("a", "Running")], (), ("a",)),
    ],
    ids=["the first", "gaps are filled", "what is done is not done again", "twice", "beyond the end", "no index"],
)
def test_indexes(pods: list[SeenPod], made: tuple[int, ...], dropped: tuple[str, ...]) -> None:
    decision = _decide(job_of(**_indexed()), *pods)
    assert (decision.create, tuple(pod.metadata.uid for pod in decision.drop)) == (made, dropped)


def test_indexes_that_are_done() -> None:
    status = JobStatus(completed_indexes="0,2", succeeded=2)
    decision = _decide(
        job_of(status, **_indexed()), pod_of("a", "Succeeded", index=1), pod_of("b", "Succeeded", index=2)
    )
    assert (decision.status.completed_indexes, decision.status.succeeded) == ("0-2", 3)


def test_a_pod_that_is_going_is_replaced_at_once_or_when_it_has_ended() -> None:
    going = pod_of("g", "Running", deleting=True)
    assert len(_decide(job_of(), going, after=11).create) == 1
    assert len(_decide(job_of(podReplacementPolicy="Failed"), going, after=11).create) == 0


def test_pods_of_a_deleted_job_are_released_and_none_is_made() -> None:
    job = job_of(parallelism=2, completions=2)
    deleted = SeenJob(
        metadata=type(job.metadata)(name="j", uid="job", deletion_timestamp="2026-01-01T00:00:00Z"), spec=job.spec
    )
    decision = _decide(deleted, *_running(1))
    assert (decision.create, len(decision.release), decision.delete) == ((), 1, ())


def test_the_least_is_lost() -> None:
    later = START + timedelta(seconds=9)
    pods = [
        pod_of("ready", "Running", ready=True),
        pod_of("running", "Running"),
        pod_of("pending", "Pending"),
        pod_of("newer", "Pending", when=later),
        pod_of("unscheduled", "Pending", node=""),
    ]
    order: list[str] = []
    for wanted in (4, 3, 2, 1):
        decision = _decide(job_of(parallelism=wanted, completions=9), *pods)
        order.append(decision.drop[-1].metadata.uid)
    assert order == ["unscheduled", "newer", "pending", "running"]
