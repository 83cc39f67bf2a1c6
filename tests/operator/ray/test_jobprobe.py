from __future__ import annotations

from typing import Any, Final

import orjson
import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.operator.ray.jobprobe import JobProbe, JobsSeen, JobTarget
from rayward.operator.ray.reach import Answer, Ask, Place, PodPort

pytestmark = pytest.mark.anyio

_PLACE: Final = PodPort("n", "head", "10.0.0.1", 8265)
_JOB_STARTED: Final = 1000.0


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
