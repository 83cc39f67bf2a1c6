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
        self.asked: list[str] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        self.asked.append(ask.path)
        return Answer(200, orjson.dumps(self._answer(ask.path)))

    def _answer(self, path: str) -> Any:
        if path == "/api/version":
            return {"version": "4", "ray_version": "2.60.0", "ray_commit": "c", "session_name": "s"}
        if path.startswith("/api/v0/nodes"):
            nodes = [{"node_id": "old", "state": "DEAD"}, {"node_id": "new", "state": "ALIVE"}]
            return {"result": True, "msg": "", "data": {"result": {"result": nodes}}}
        return {"status": self.status, "driver_node_id": "old", "start_time": int(_JOB_STARTED) * 1000}


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


@pytest.mark.parametrize(
    ("job", "ours", "seconds"),
    [
        (None, False, 0.5),
        # Nobody but us could have submitted it.
        (None, True, 5.0),
        (JobInfo("PENDING"), True, 0.5),
        (JobInfo("RUNNING", start_time=_NOW_MS - 1000), True, 0.5),
        (JobInfo("RUNNING", start_time=_NOW_MS - 100_000), True, 2.0),
        (JobInfo("RUNNING", start_time=_NOW_MS - 3_600_000), True, 5.0),
        (JobInfo("SUCCEEDED", start_time=_NOW_MS - 1000), True, 5.0),
    ],
)
def test_nothing_is_asked_often_that_cannot_have_changed(job: JobInfo | None, ours: bool, seconds: float) -> None:
    target = JobTarget(_PLACE, jobs=frozenset(("j",)), ours=frozenset(("j",) if ours else ()))
    assert JobProbe(_Head(), _Stopped()).pause(target, JobsSeen("s", {"j": job}), 0, 0.5) == pytest.approx(seconds)
