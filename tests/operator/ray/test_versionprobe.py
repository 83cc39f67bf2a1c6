"""A head says once which Ray it runs, and is left alone where it does not."""

from __future__ import annotations

from typing import Final

import orjson
import pytest

from rayward.operator.ray.errors import Unreachable
from rayward.operator.ray.reach import Answer, Ask, Place, PodPort
from rayward.operator.ray.versionprobe import VersionProbe, VersionTarget

pytestmark = pytest.mark.anyio

_TARGET: Final = VersionTarget(PodPort("n", "head", "10.0.0.1", 8265), "uid/0")
_VERSION: Final = {"version": "4", "ray_version": "2.60.0", "ray_commit": "c", "session_name": "s"}


class _Head:
    def __init__(self, status: int = 200) -> None:
        self.status = status
        """0 where nobody answers."""
        self.asked: list[str] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        self.asked.append(ask.path)
        if not self.status:
            raise Unreachable(f"{place}: no route")
        return Answer(self.status, orjson.dumps(_VERSION))


async def test_one_answer_is_all_that_is_asked_for() -> None:
    head = _Head()
    probe = VersionProbe(head)
    seen = await probe.look(_TARGET, probe.unseen, lambda session: session == "s")
    assert (seen, probe.has_failed(seen), head.asked) == ("2.60.0", False, ["/api/version"])
    assert probe.pause(_TARGET, seen, 0, 0.5, 1) is None


@pytest.mark.parametrize("status", [0, 401, 503])
async def test_a_head_that_does_not_say_is_asked_a_few_times(status: int) -> None:
    probe = VersionProbe(_Head(status))
    seen = await probe.look(_TARGET, probe.unseen, lambda _: True)
    assert probe.has_failed(seen)
    pauses = [probe.pause(_TARGET, seen, failures, 0.5, 1) for failures in range(1, 7)]
    assert pauses == [5.0, 10.0, 20.0, None, None, None]


async def test_a_session_of_another_head_says_nothing() -> None:
    probe = VersionProbe(_Head())
    assert await probe.look(_TARGET, probe.unseen, lambda _: False) == ""
