from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.joblog import follow, remainder, show
from rayward.changes.outcomes import JobFailed, NotFound
from tests.changes.rayworld import REF, RayWorld


class _Shown:
    def __init__(self) -> None:
        self.log = b""
        self.told: list[str] = []

    def write(self, part: bytes) -> None:
        self.log += part


def _row(number: int, job_id: str, tail: str, **more: Any) -> dict[str, Any]:
    return {"number": number, "rayClusterName": f"c-{number}", "jobId": job_id, "logTail": tail, **more}


def _follow(world: RayWorld, *changes: Any) -> _Shown:
    shown = _Shown()
    world.play(follow(REF, shown.write, shown.told.append), *changes)
    return shown


def test_a_log_is_shown_as_it_grows_and_what_is_waited_for() -> None:
    world = RayWorld()

    def starts() -> None:
        world.status |= {"jobDeploymentStatus": "Initializing", "rayClusterName": "c-1"}
        ready = {"type": "Ready", "status": "False", "message": "0 of 1 pods are ready"}
        world.cluster = {"metadata": {"name": "c-1"}, "status": {"conditions": [ready]}}

    shown = _follow(
        world,
        starts,
        lambda: None,
        world.runs,
        lambda: world.say(b"one\n"),
        lambda: world.say(b"two\n"),
        lambda: world.ends(),
        lambda: None,
    )
    assert shown.log == b"one\ntwo\n"
    assert shown.told == [
        "New: no operator has acted on it yet",
        "Initializing: RayCluster c-1: 0 of 1 pods are ready",
        "Running: job id-1 on RayCluster c-1",
    ]


def test_what_was_said_after_the_cluster_went_is_taken_from_what_was_kept() -> None:
    world = RayWorld()
    world.runs()
    world.say(b"one\ntwo\n")

    def goes() -> None:
        world.cluster = None
        world.ends(attempts=[_row(1, "id-1", "two\nthree\n")])

    assert _follow(world, goes, lambda: None).log == b"one\ntwo\nthree\n"


def test_every_attempt_is_shown_and_none_twice() -> None:
    world = RayWorld()
    world.runs()
    world.say(b"first\n")

    def fails() -> None:
        world.ray, world.cluster = "FAILED", None
        world.status |= {"jobDeploymentStatus": "Retrying", "attempts": [_row(1, "id-1", "first\n", exitCode=3)]}

    def again() -> None:
        world.log = b"second\n"
        world.runs("id-2", "c-2")

    def ends() -> None:
        world.ends(attempts=[_row(1, "id-1", "first\n", exitCode=3), _row(2, "id-2", "second\n")])

    assert _follow(world, fails, lambda: None, again, ends, lambda: None).log == b"first\nsecond\n"


def test_attempts_under_an_id_of_the_users_are_told_apart_by_their_clusters() -> None:
    world = RayWorld()
    world.runs("mine")
    world.say(b"first\n")

    def fails() -> None:
        world.ray, world.cluster = "FAILED", None
        world.status |= {"jobDeploymentStatus": "Retrying", "attempts": [_row(1, "mine", "first\n", exitCode=3)]}

    def again() -> None:
        world.log = b"second\n"
        world.runs("mine", "c-2")

    def ends() -> None:
        world.ends(attempts=[_row(1, "mine", "first\n", exitCode=3), _row(2, "mine", "second\n")])

    assert _follow(world, fails, lambda: None, again, ends, lambda: None).log == b"first\nsecond\n"


def test_a_job_that_failed_says_why_and_leaves_out_the_log_that_was_shown() -> None:
    world = RayWorld()
    message = "Job entrypoint command failed with exit code 3, last available logs (truncated): one\ntwo"
    world.ends("FAILED", reason="AppFailed", message=message)
    with pytest.raises(JobFailed) as failure:
        _follow(world)
    assert failure.value.what == "rayjob/j failed: AppFailed"
    assert failure.value.why == "Job entrypoint command failed with exit code 3"
    assert failure.value.code == 8


def test_a_job_that_was_stopped_did_not_succeed() -> None:
    world = RayWorld()
    world.ends("STOPPED")
    with pytest.raises(JobFailed, match="it was stopped"):
        _follow(world)


def test_a_spec_that_was_rejected_is_no_reason_to_wait() -> None:
    world = RayWorld()
    world.status = {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed", "message": "no entrypoint"}
    with pytest.raises(JobFailed) as failure:
        _follow(world)
    assert failure.value.why == "no entrypoint"


def test_who_may_not_ask_the_dashboard_sees_the_log_at_the_end() -> None:
    world = RayWorld()
    world.forbidden = True
    world.runs()
    shown = _follow(world, lambda: world.ends(attempts=[_row(1, "id-1", "all of it")]), lambda: None)
    assert shown.log == b"all of it\n"
    assert any("forbidden" in line for line in shown.told)


def test_a_log_is_found_on_the_live_cluster_then_with_the_job() -> None:
    world, shown = RayWorld(), _Shown()
    world.runs()
    world.say(b"live\n")
    world.play(show(REF, shown.write))
    assert shown.log == b"live\n"
    world.cluster, shown = None, _Shown()
    world.ends(attempts=[_row(1, "id-0", "older"), _row(2, "id-1", "kept")])
    world.play(show(REF, shown.write))
    assert shown.log == b"kept\n"


def test_rows_are_also_found_where_the_definition_has_no_field_for_them() -> None:
    world, shown = RayWorld(), _Shown()
    job = world.job()
    job["metadata"]["annotations"] = {"rayward.dev/attempts": '[{"number":1,"jobId":"a","logTail":"kept"}]'}
    world.job = lambda: job  # type: ignore[method-assign]
    world.play(show(REF, shown.write))
    assert shown.log == b"kept\n"


def test_where_nothing_was_kept_the_submitter_is_asked() -> None:
    """A driver that never began has no log; what was wrong is in the submitter's."""
    world, shown = RayWorld(), _Shown()
    world.ends("FAILED", jobId="id-1", rayClusterName="c-1", attempts=[_row(1, "id-1", "")])
    world.submitters = {"j-first": b"no such package\n", "j-second": b"no such package again\n"}
    world.play(show(REF, shown.write))
    assert shown.log == b"no such package\nno such package again\n"


def test_a_submitter_that_cannot_be_read_hides_no_later_one() -> None:
    world, shown = RayWorld(), _Shown()
    world.ends("FAILED", jobId="id-1", rayClusterName="c-1")
    world.submitters, world.unreadable = {"j-first": b"", "j-second": b"no such package\n"}, {"j-first"}
    world.play(show(REF, shown.write))
    assert shown.log == b"no such package\n"


def test_no_log_is_said_to_be_none() -> None:
    with pytest.raises(NotFound, match="has no log"):
        RayWorld().play(show(REF, lambda _: None))


@pytest.mark.parametrize(
    ("written", "tail", "rest"),
    [
        (b"", b"all", b"all"),
        (b"one two", b"two", b""),
        (b"one two", b"two three", b" three"),
        (b"one", b"three", b"three"),
        (b"a\na\n", b"a\na\nb\n", b"b\n"),
    ],
)
def test_what_is_not_written_yet_follows_where_both_meet(written: bytes, tail: bytes, rest: bytes) -> None:
    assert remainder(written, tail) == rest
