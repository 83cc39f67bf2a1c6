"""Each end of a container is told once, wherever it shows first."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.exits import Exit, of_pod
from rayward.changes.timeline.logends import LogEnds
from rayward.kube.client.request import Request
from rayward.net.errors import NetworkError
from rayward.operator.cluster.pod import RayPod

_NOW = "2026-01-01T00:00:09Z"


def _ended(code: int, at: int, **more: str) -> dict[str, Any]:
    times = {"startedAt": f"2026-01-01T00:00:0{at - 1}Z", "finishedAt": f"2026-01-01T00:00:0{at}Z"}
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", **times, **more}}


_RUNS = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
_WAITS = {"waiting": {"reason": "CrashLoopBackOff"}}


def _pod(state: Any, last: Any = None, restarts: int = 0, *, init: bool = False, deleting: bool = False) -> RayPod:
    one = {"name": "ray", "state": state, "lastState": last, "restartCount": restarts}
    metadata = {"name": "p", "namespace": "team", "uid": "1"}
    if deleting:
        metadata["deletionTimestamp"] = _NOW
    statuses = "initContainerStatuses" if init else "containerStatuses"
    return msgspec.convert({"metadata": metadata, "status": {"phase": "Running", statuses: [one]}}, RayPod)


FIRST, SECOND = _ended(1, 2), _ended(1, 4)


@pytest.mark.parametrize(
    ("old", "new", "times"),
    [
        (_pod(_RUNS), _pod(FIRST), ["2026-01-01T00:00:02Z"]),
        (_pod(FIRST), _pod(FIRST), []),
        (_pod(FIRST), _pod(_WAITS, FIRST), []),
        (_pod(_WAITS, FIRST), _pod(_RUNS, FIRST, 1), []),
        (_pod(_RUNS), _pod(_RUNS, FIRST, 1), ["2026-01-01T00:00:02Z"]),
        (_pod(_RUNS, FIRST, 1), _pod(SECOND, FIRST, 1), ["2026-01-01T00:00:04Z"]),
        # two ends of one second
        (_pod(_RUNS, FIRST, 1), _pod(FIRST, FIRST, 1), ["2026-01-01T00:00:02Z"]),
        (_pod(SECOND, FIRST, 1), _pod(_WAITS, SECOND, 1), []),
        (None, _pod(FIRST), ["2026-01-01T00:00:02Z"]),
        (_pod(_RUNS), _pod(_ended(0, 2)), ["2026-01-01T00:00:02Z"]),
        # every worker waits for its head in one of these
        (_pod(_RUNS, init=True), _pod(_ended(0, 2), init=True), []),
        (_pod(_RUNS, init=True), _pod(FIRST, init=True), ["2026-01-01T00:00:02Z"]),
        (_pod(_RUNS), None, []),
    ],
)
def test_an_end_is_told_once(old: RayPod | None, new: RayPod | None, times: list[str]) -> None:
    assert [one.entry.at for one in of_pod(old, new, _NOW, "RayCluster/c")] == times


def test_it_says_reason_code_and_what_the_container_left() -> None:
    killed = _ended(137, 2, reason="OOMKilled", message="eating\n")
    (found,) = of_pod(_pod(_RUNS), _pod(killed), _NOW, "RayCluster/c")
    assert found.entry == Entry(
        "2026-01-01T00:00:02Z",
        "team",
        "Pod",
        "p",
        "pod",
        "container ray ended with exit code 137 (OOMKilled)",
        owner="RayCluster/c",
        detail="eating",
    )
    assert found.with_log("eaten\n").detail == "eating\neaten"
    assert found.with_log("more\neating\n").detail == "more\neating", "the message was the log's end"
    assert found.with_log("").detail == "eating"


@pytest.mark.parametrize(
    ("new", "wants"),
    [(_pod(FIRST), True), (_pod(_ended(0, 2)), False), (_pod(FIRST, deleting=True), False)],
)
def test_logs_of_what_ended_well_or_was_deleted_are_not_asked_for(new: RayPod, wants: bool) -> None:
    assert [one.wants_log for one in of_pod(_pod(_RUNS), new, _NOW, "")] == [wants]


class _Logs:
    """Answers with a log, or not at all."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.hangs = False
        self.body = b"2026-01-01T00:00:01.5Z boom\n"
        self.asked: list[str] = []

    async def attempt(self, request: Request) -> Any:
        self.asked.append(request.target)
        if self.hangs:
            await asyncio.Event().wait()
        if self.failure is not None:
            raise self.failure
        return type("Answer", (), {"body": self.body})


def _crash() -> Exit:
    (found,) = of_pod(_pod(_RUNS), _pod(FIRST), _NOW, "")
    return found


async def _kept(logs: _Logs, pod: RayPod | None, count: int = 1) -> list[Entry]:
    kept: list[Entry] = []
    done = asyncio.Event()

    def keep(entry: Entry) -> None:
        kept.append(entry)
        if len(kept) == count:
            done.set()

    reading = LogEnds(logs, lambda _key: pod, keep)  # pyright: ignore[reportArgumentType]
    for _ in range(count):
        reading.add(_crash())
    task = asyncio.ensure_future(reading.run())
    await done.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(kept) == count
    return kept


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pod", "previous"),
    [
        (_pod(FIRST), "false"),
        (_pod(_WAITS, FIRST), "false"),
        (_pod(_RUNS, FIRST, 1), "true"),
        (_pod(_RUNS, SECOND, 2), None),
        (None, None),
    ],
)
async def test_the_log_of_that_very_container_is_read(pod: RayPod | None, previous: str | None) -> None:
    logs = _Logs()
    (entry,) = await _kept(logs, pod)
    assert entry.detail == ("boom" if previous else "")
    assert [f"previous={previous}" in one and "tailLines=20" in one for one in logs.asked] == [True] * bool(previous)


@pytest.mark.anyio
async def test_lines_of_the_container_after_it_are_not_its_own() -> None:
    """It was started again before its log was read: that of the one before is asked for."""
    logs = _Logs()
    logs.body = b"2026-01-01T00:00:05.1Z after"
    (entry,) = await _kept(logs, _pod(FIRST))
    assert entry.detail == ""
    assert ["previous=true" in one for one in logs.asked] == [False, True]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pod", "at", "detail"),
    [
        (_pod(FIRST), "03.9", "boom"),
        (_pod(_WAITS, FIRST), "03.9", "boom"),
        (_pod(FIRST), "04", ""),
        (_pod(_RUNS, FIRST, 1), "03", ""),
    ],
)
async def test_a_line_that_its_node_read_after_the_end_is_its_own_until_it_runs_again(
    pod: RayPod, at: str, detail: str
) -> None:
    logs = _Logs()
    logs.body = f"2026-01-01T00:00:{at}Z boom\n".encode()
    (entry,) = await _kept(logs, pod)
    assert entry.detail == detail


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("2026-01-01T00:00:01.000000001Z mine", True),
        ("2026-01-01T02:00:02.9+02:00 mine", True),
        ("2026-01-01T00:00:03Z after", False),
        ("2026-01-01T00:00:00.9Z before", False),
        ("2026-01-01T00:00:01.5Z 10%\r20%\rno room", True),
        ("no stamp", False),
    ],
)
def test_lines_are_its_own_by_their_time(line: str, own: bool) -> None:
    assert _crash().own_lines(line) == (line.partition(" ")[2] if own else "")


@pytest.mark.anyio
async def test_a_log_that_cannot_be_read_costs_only_itself() -> None:
    (entry,) = await _kept(_Logs(NetworkError("gone")), _pod(FIRST))
    assert (entry.text, entry.detail) == ("container ray ended with exit code 1 (Error)", "")


@pytest.mark.anyio
async def test_however_many_end_at_once_each_is_told() -> None:
    entries = await _kept(_Logs(), _pod(FIRST), 150)
    assert sum(one.detail == "boom" for one in entries) == 100


@pytest.mark.anyio
async def test_a_process_that_ends_tells_what_it_was_reading() -> None:
    logs, kept = _Logs(), list[Entry]()
    logs.hangs = True
    reading = LogEnds(logs, lambda _key: _pod(FIRST), kept.append)  # pyright: ignore[reportArgumentType]
    for _ in range(6):
        reading.add(_crash())
    task = asyncio.ensure_future(reading.run())
    async with asyncio.timeout(60):
        while not logs.asked:  # noqa: ASYNC110 - it is in this loop's turn
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    reading.drain()
    assert len(kept) == 6
