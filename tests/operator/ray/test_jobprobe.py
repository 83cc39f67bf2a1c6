from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import orjson
import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK, SystemClock
from rayward.operator.ray.jobprobe import JobProbe, JobsSeen, JobTarget
from rayward.operator.ray.jobs import JobInfo
from rayward.operator.ray.reach import Answer, Ask, Place, PodPort

pytestmark = pytest.mark.anyio

_PLACE: Final = PodPort("n", "head", "10.0.0.1", 8265)
_JOB_STARTED: Final = 1000.0
_NOW_MS: Final = 10_000_000


class _Stopped(SystemClock):
    def utc(self) -> datetime:
        return datetime.fromtimestamp(_NOW_MS / 1000, UTC)


class _Head:
    """A head whose driver's node died."""

    def __init__(self, status: str = "RUNNING") -> None:
        self.status = status
        """Empty where it has no such job."""
        self.session = "s"
        self.started = int(_JOB_STARTED) * 1000
        self.asked: list[str] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        self.asked.append(ask.path)
        if ask.path.startswith("/api/jobs/") and not self.status:
            return Answer(404, b"Job j does not exist")
        return Answer(200, orjson.dumps(self._answer(ask.path)))

    def _answer(self, path: str) -> Any:
        if path == "/api/version":
            return {"version": "4", "ray_version": "2.60.0", "ray_commit": "c", "session_name": self.session}
        if path.startswith("/api/v0/nodes"):
            nodes = [{"node_id": "old", "state": "DEAD"}, {"node_id": "new", "state": "ALIVE"}]
            return {"result": True, "msg": "", "data": {"result": {"result": nodes}}}
        return {"status": self.status, "driver_node_id": "old", "start_time": self.started}


async def _seen(head: _Head, started: float) -> JobsSeen:
    target = JobTarget(_PLACE, jobs=frozenset(("j",)), started=started)
    return await JobProbe(head, SYSTEM_CLOCK).look(target, JobsSeen(), lambda _: True)


async def test_of_a_job_that_is_older_than_its_head_the_nodes_are_asked_for() -> None:
    seen = await _seen(_Head(), _JOB_STARTED + 60)
    assert seen.failure is None
    assert seen.dead_nodes == {"old"}


@pytest.mark.parametrize(("status", "started"), [("RUNNING", _JOB_STARTED - 60), ("SUCCEEDED", _JOB_STARTED + 60)])
async def test_of_every_other_job_they_are_not(status: str, started: float) -> None:
    head = _Head(status)
    assert (await _seen(head, started)).dead_nodes == frozenset()
    assert not any("nodes" in path for path in head.asked)


async def _looked_again(head: _Head, *, ours: bool = True, known: bool = True) -> JobsSeen:
    """The second of two looks; ``head.asked`` has the requests of that one alone."""
    target = JobTarget(_PLACE, jobs=frozenset(("j",)), ours=frozenset(("j",) if ours else ()))
    info = JobInfo("RUNNING", start_time=int(_JOB_STARTED) * 1000, driver_node_id="old")
    before = JobsSeen("s", {"j": info if known else None})
    return await JobProbe(head, _Stopped()).look(target, before, lambda session: session == "s")


async def test_a_job_that_was_seen_is_asked_for_alone() -> None:
    head = _Head("SUCCEEDED")
    seen = await _looked_again(head)
    assert head.asked == ["/api/jobs/j"]
    assert seen.session == "s"
    assert (found := seen.jobs["j"]) is not None
    assert found.status == "SUCCEEDED"


async def test_a_job_that_was_seen_and_is_gone_is_told_with_the_session_that_has_it_no_more() -> None:
    head = _Head("")
    assert await _looked_again(head) == JobsSeen("s", {"j": None}, 0, None, {"j": _NOW_MS / 1000})
    head.session = "t"
    assert (failure := (await _looked_again(head)).failure) is not None
    assert failure.reason == "WrongSession"


async def test_another_run_under_the_same_id_is_none_that_was_seen() -> None:
    head = _Head()
    head.session, head.started = "t", head.started + 1
    assert (failure := (await _looked_again(head)).failure) is not None
    assert failure.reason == "WrongSession"


@pytest.mark.parametrize(("ours", "times"), [(True, 1), (False, 2)])
async def test_that_a_job_is_unknown_is_confirmed_unless_whoever_submits_it_asks_anyway(ours: bool, times: int) -> None:
    head = _Head("")
    found = await _looked_again(head, ours=ours, known=False)
    assert found == JobsSeen("s", {"j": None}, 0, None, {"j": _NOW_MS / 1000})
    assert head.asked.count("/api/version") == times


@pytest.mark.parametrize(
    ("job", "ours", "seconds"),
    [
        (None, False, 0.5),
        # Nobody but us could have submitted it.
        (None, True, 5.0),
        (JobInfo("PENDING"), True, 0.25),
        (JobInfo("PENDING", start_time=_NOW_MS - 1000), True, 0.25),
        # It waits for a node that may come tomorrow.
        (JobInfo("PENDING", start_time=_NOW_MS - 3_600_000), True, 5.0),
        (JobInfo("RUNNING", start_time=_NOW_MS - 1000), True, 0.25),
        (JobInfo("RUNNING", start_time=_NOW_MS - 100_000), True, 2.0),
        (JobInfo("RUNNING", start_time=_NOW_MS - 3_600_000), True, 5.0),
        (JobInfo("SUCCEEDED", start_time=_NOW_MS - 1000), True, 5.0),
    ],
)
def test_nothing_is_asked_often_that_cannot_have_changed(job: JobInfo | None, ours: bool, seconds: float) -> None:
    target = JobTarget(_PLACE, jobs=frozenset(("j",)), ours=frozenset(("j",) if ours else ()))
    assert JobProbe(_Head(), _Stopped()).pause(target, JobsSeen("s", {"j": job}), 0, 0.5, 1) == pytest.approx(seconds)


@pytest.mark.parametrize(("age", "seconds"), [(0, 0.5), (25, 0.5), (100, 2.0), (3600, 5.0)])
def test_a_job_that_nobody_submits_is_asked_for_ever_less_often(age: float, seconds: float) -> None:
    target, since = JobTarget(_PLACE, jobs=frozenset(("j",))), {"j": _NOW_MS / 1000 - age}
    seen = JobsSeen("s", {"j": None}, unknown_since=since)
    assert JobProbe(_Head(), _Stopped()).pause(target, seen, 0, 0.5, 1) == pytest.approx(seconds)


async def test_how_long_a_job_is_unknown_is_remembered_and_changes_nothing_that_was_seen() -> None:
    target, head = JobTarget(_PLACE, jobs=frozenset(("j",))), _Head("")
    before = JobsSeen("s", {"j": None}, 0, None, {"j": 1.0})
    probe = JobProbe(head, _Stopped())
    assert await probe.look(target, before, lambda _: True) == before
    head.session = "t"
    assert (await probe.look(target, before, lambda _: False)).unknown_since == before.unknown_since


def test_a_head_on_which_no_job_is_waited_for_is_left_in_peace() -> None:
    assert JobProbe(_Head(), _Stopped()).pause(JobTarget(_PLACE), JobsSeen("s"), 0, 0.5, 1) == pytest.approx(30.0)


@pytest.mark.parametrize(("heads", "seconds"), [(1, 0.25), (50, 0.25), (80, 0.4), (100, 0.5), (500, 0.5)])
def test_young_jobs_of_many_heads_are_asked_for_less_often(heads: int, seconds: float) -> None:
    target, job = JobTarget(_PLACE, jobs=frozenset(("j",))), JobInfo("RUNNING", start_time=_NOW_MS - 1000)
    assert JobProbe(_Head(), _Stopped()).pause(target, JobsSeen("s", {"j": job}), 0, 0.5, heads) == pytest.approx(
        seconds
    )
