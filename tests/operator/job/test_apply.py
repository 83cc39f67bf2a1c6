"""Actions whose answers are lost, or come too late."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec
import orjson
import pytest

from rayward.kinds import labels
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.runtime.shield import Shield
from rayward.kube.runtime.writer import Writer
from rayward.net.errors import TimedOut
from rayward.operator.base.writing import WRITE
from rayward.operator.cluster.pod import RayPod
from rayward.operator.job import annotations as memory
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.apply import Applier
from rayward.operator.job.ending import MOST_ROWS, recorded
from rayward.operator.job.facts import Submitter
from rayward.operator.job.observe import Local, Observed
from rayward.operator.job.state import Action, Decision, State
from tests.operator.job.world import START, job

pytestmark = pytest.mark.anyio

_JOB: Final = job()
_ATTEMPT: Final = Attempt(1, job_id="j-1", cluster="j-abcde", **memory.frozen(_JOB.spec))

_SAID: Final = Response(200, {}, b"no such file\n")

Answer = Callable[[Request], Response]


class _Transport:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def request(self, request: Request) -> Response:
        return self.answer(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        raise AssertionError("nothing is streamed here")

    async def close(self) -> None:
        """Nothing to close."""


def _took(request: Request) -> Response:
    body: dict[str, Any] = orjson.loads(request.body or b"{}")
    body["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    return Response(200, {}, orjson.dumps(body))


def _refuses(code: int, reason: str, message: str) -> Answer:
    def answer(request: Request) -> Response:
        if request.method != "POST":
            return _took(request)
        return Response(code, {}, orjson.dumps({"kind": "Status", "code": code, "reason": reason, "message": message}))

    return answer


def _late(request: Request) -> Response:
    del request
    raise TimedOut("the kubelet did not answer")


async def _does(action: Action, answer: Answer, local: Local) -> None:
    await _applies(Decision(_JOB.status, _ATTEMPT, (action,)), answer, local)


async def _applies(decision: Decision, answer: Answer, local: Local) -> None:
    async def at_once(seconds: float) -> None:
        del seconds

    def told(reason: str, message: str, *, warning: bool = False) -> None:
        del reason, message, warning

    client = Client(_Transport(answer), sleep=at_once)
    writer = Writer(client, _JOB.metadata.namespace, WRITE, Shield(), lambda resource, answer: None)
    head = RayPod(metadata=ObjectMeta(name="head", uid="h"))
    observed = Observed(_JOB, _ATTEMPT, None, head, None, "h", None, "", None)
    state = State(_JOB, _ATTEMPT, _JOB.spec, submitter=Submitter.ENDED)
    applier = Applier(client, writer, observed, state, local, None, lambda: None, "", told, lambda: ("", 0))
    await applier.apply(decision)


async def test_a_child_that_turns_out_to_be_there_is_not_said_to_be_refused() -> None:
    """The answer to a creation after the refusal was lost."""
    local = Local()
    with pytest.raises(Forbidden):
        await _does(Action.CREATE_CLUSTER, _refuses(403, "Forbidden", "exceeded quota"), local)
    assert local.uncreated == {"RayCluster": "exceeded quota"}
    await _does(Action.CREATE_CLUSTER, _refuses(409, "AlreadyExists", "it is there"), local)
    assert local.uncreated == {}


async def test_rows_in_an_annotation_are_bounded_and_the_latest_stay() -> None:
    """Where KubeRay's definition is installed: all annotations of an object have 256 KiB together."""
    status, rows = _JOB.status, range(1, 31)
    for number in rows:
        attempt = msgspec.structs.replace(_ATTEMPT, number=number)
        state = State(_JOB, attempt, _JOB.spec, log_tail='"\n' * 50_000)
        status = recorded(state, status, START, "AppFailed", "exit code 3")
    assert [row.number for row in status.attempts or ()] == [*rows][-MOST_ROWS:]
    bodies: list[dict[str, Any]] = []

    def answer(request: Request) -> Response:
        bodies.append(orjson.loads(request.body or b"{}"))
        return _took(request)

    await _applies(Decision(status, _ATTEMPT), answer, Local(reported=True))
    text = next(kept for body in bodies if (kept := body["metadata"].get("annotations", {}).get(labels.ATTEMPTS)))
    kept = [row["number"] for row in orjson.loads(text)]
    assert len(text.encode()) <= 64 * 1024
    assert kept == [*rows][-len(kept) :]
    assert len(kept) > 1


async def test_a_submitters_log_that_cannot_be_read_now_is_read_again() -> None:
    """The driver has none, and Ray's reason is nowhere else."""
    local = Local()
    await _does(Action.READ_LOG, lambda request: _took(request) if request.body else _late(request), local)
    assert (local.tails, local.submitter_tails) == ({}, {})
    await _does(Action.READ_LOG, lambda request: _took(request) if request.body else _SAID, local)
    assert (local.tails, local.submitter_tails) == ({1: ""}, {1: "no such file\n"})
