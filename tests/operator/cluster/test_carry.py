"""Writes that are sent twice, refused, or find their name taken."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import orjson
import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.request import METADATA, Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.core.resource import PODS, ROLES, SECRETS, SERVICE_ACCOUNTS, Resource
from rayward.kube.runtime.shield import Shield
from rayward.kube.runtime.writer import Writer
from rayward.net.errors import TimedOut
from rayward.operator.base.writing import WRITE
from rayward.operator.cluster.carry import Carrier
from rayward.operator.cluster.memory import Memory
from rayward.operator.cluster.plan import Make, Mend, NewPod, Remove, Write
from tests.operator.cluster.world import cluster
from tests.operator.stage import group, manifest

pytestmark = pytest.mark.anyio

_CLUSTER: Final = cluster(manifest(groups=[group(replicas=2, numOfHosts=2)]))
_GROUP: Final = _CLUSTER.groups[0]

Object = dict[str, Any]
Answer = Callable[[Request], Response]


class _Transport:
    def __init__(self, answer: Answer) -> None:
        self.requests: list[Request] = []
        self.answer = answer

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answer(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        raise AssertionError("nothing is streamed here")

    async def close(self) -> None:
        """Nothing to close."""


def _status(code: int, reason: str) -> Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": reason}
    return Response(code, {}, orjson.dumps(body))


def _took(request: Request) -> Response:
    body: Object = orjson.loads(request.body or b"{}")
    body["metadata"] |= {"uid": body["metadata"]["name"], "resourceVersion": "7"}
    return Response(201, {}, orjson.dumps(body))


def _carrier(answer: Answer, memory: Memory | None = None) -> tuple[Carrier, _Transport]:
    transport = _Transport(answer)

    async def at_once(seconds: float) -> None:
        del seconds

    client = Client(transport, sleep=at_once)
    writer = Writer(client, _CLUSTER.metadata.namespace, WRITE, Shield(), lambda resource, answer: None)
    return Carrier(writer, _CLUSTER, memory or Memory()), transport


def _hosts(replica: int = 0) -> list[NewPod]:
    return [NewPod(_GROUP, replica, host) for host in range(2)]


async def test_a_head_that_is_not_let_in_keeps_its_workers_out() -> None:
    carrier, transport = _carrier(lambda request: _status(403, "Forbidden"))

    outcomes = await carrier.carry_out([NewPod(None), *_hosts()])

    assert len(transport.requests) == 1
    assert [outcome.name.split("-")[1] for outcome in outcomes] == ["head"]


async def test_workers_follow_their_head_in_the_same_run() -> None:
    carrier, transport = _carrier(_took)

    await carrier.carry_out([NewPod(None), *_hosts()])

    assert _names(transport)[0].split("-")[1] == "head"
    assert len(transport.requests) == 3


def _names(transport: _Transport) -> list[str]:
    bodies = [request.body for request in transport.requests if request.body]
    return [orjson.loads(body)["metadata"]["name"] for body in bodies]


async def test_an_unanswered_creation_is_sent_again_with_the_same_name() -> None:
    answers = iter((None, _status(409, "AlreadyExists")))
    body: list[bytes] = []

    def answer(request: Request) -> Response:
        if request.method == "GET":
            return _took(Request("POST", "", body[0]))
        body.append(request.body or b"")
        found = next(answers)
        if found is None:
            raise TimedOut("no answer")
        return found

    carrier, transport = _carrier(answer)
    (outcome,) = await carrier.carry_out([NewPod(None)])
    assert outcome.error is None
    assert [request.method for request in transport.requests] == ["POST", "POST", "GET"]
    assert len(set(body)) == 1


async def test_a_name_that_anothers_pod_has_is_given_up() -> None:
    def answer(request: Request) -> Response:
        if request.method == "POST":
            return _status(409, "AlreadyExists")
        return Response(200, {}, orjson.dumps({"metadata": {"name": "x", "uid": "another"}}))

    memory = Memory()
    carrier, first = _carrier(answer, memory)
    (outcome,) = await carrier.carry_out([NewPod(None)])
    assert outcome.error is not None
    carrier, second = _carrier(_took, memory)
    (outcome,) = await carrier.carry_out([NewPod(None)])
    assert outcome.error is None
    assert _names(first) != _names(second)


async def test_hosts_of_one_replica_share_its_name_and_the_next_replica_has_another() -> None:
    def replicas(transport: _Transport) -> set[str]:
        bodies: list[Object] = [orjson.loads(request.body or b"{}") for request in transport.requests]
        return {body["metadata"]["labels"]["ray.io/worker-group-replica-name"] for body in bodies}

    memory = Memory()
    carrier, first = _carrier(_took, memory)
    await carrier.carry_out(_hosts())
    carrier, second = _carrier(_took, memory)
    await carrier.carry_out(_hosts())
    assert len(replicas(first)) == len(replicas(second)) == 1
    assert replicas(first) != replicas(second)


async def test_after_a_refusal_one_pod_is_tried_before_the_others() -> None:
    memory = Memory()
    carrier, refusing = _carrier(lambda request: _status(403, "Forbidden"), memory)
    assert len(await carrier.carry_out([*_hosts(0), *_hosts(1)])) == 4
    assert len(await carrier.carry_out([*_hosts(0), *_hosts(1)])) == 1
    assert len(refusing.requests) == 5
    carrier, taking = _carrier(_took, memory)
    assert len(await carrier.carry_out([*_hosts(0), *_hosts(1)])) == 4
    # Those that were refused keep their names: what is told of them stays the same.
    assert set(_names(taking)) == set(_names(refusing))


def _namesake(metadata: Object) -> Answer:
    """The name is taken by an object with this metadata; patches are taken."""
    whole = {"name": "plain", "uid": "u", "resourceVersion": "7", **metadata}

    def answer(request: Request) -> Response:
        if request.method == "POST":
            return _status(409, "AlreadyExists")
        return Response(200, {}, orjson.dumps({"metadata": whole}))

    return answer


_OWNED: Final = {"ownerReferences": [{"kind": "RayCluster", "name": "plain", "uid": "c", "controller": True}]}
_BODY: Final[Object] = {"metadata": {"name": "plain", "labels": {"ray.io/cluster": "plain"}, **_OWNED}}
_NAMESAKES: Final[dict[str, tuple[Resource, Object, list[str], type[Write], bool]]] = {
    "ours": (ROLES, _BODY["metadata"], ["POST", "GET"], Make, False),
    "ours, without its label": (ROLES, _OWNED, ["POST", "GET", "PATCH"], Mend, True),
    "left behind": (ROLES, {"labels": {"ray.io/cluster": "plain"}}, ["POST", "GET", "PATCH"], Mend, True),
    "the user's, of use": (SERVICE_ACCOUNTS, {}, ["POST", "GET"], Make, False),
}


@pytest.mark.parametrize(("resource", "found", "methods", "deed", "changed"), _NAMESAKES.values(), ids=_NAMESAKES)
async def test_what_is_there_already_is_told_as_what_was_done_to_it(
    resource: Resource, found: Object, methods: list[str], deed: type[Write], changed: bool
) -> None:
    carrier, transport = _carrier(_namesake(found))
    (outcome,) = await carrier.carry_out([Make(resource, _BODY)])
    assert [request.method for request in transport.requests] == methods
    assert isinstance(outcome.write, deed)
    assert (outcome.error, outcome.changed) == (None, changed)


async def test_no_more_than_the_metadata_of_a_users_secret_is_read() -> None:
    carrier, transport = _carrier(_namesake({}))
    await carrier.carry_out([Make(SECRETS, _BODY)])
    assert transport.requests[1].accept == METADATA


async def test_a_users_role_is_left_alone_and_told() -> None:
    carrier, transport = _carrier(_namesake({}))
    (outcome,) = await carrier.carry_out([Make(ROLES, _BODY)])
    assert [request.method for request in transport.requests] == ["POST", "GET"]
    assert "was not made for this cluster" in str(outcome.error)


_GONE: Final = {
    "not found": (lambda request: _status(404, "NotFound"), True),
    "another of its name": (
        lambda request: (
            _status(409, "Conflict")
            if request.method == "DELETE"
            else Response(200, {}, orjson.dumps({"metadata": {"uid": "new"}}))
        ),
        True,
    ),
    "a conflict of another kind": (
        lambda request: (
            _status(409, "Conflict")
            if request.method == "DELETE"
            else Response(200, {}, orjson.dumps({"metadata": {"uid": "old"}}))
        ),
        False,
    ),
}


@pytest.mark.parametrize(("answer", "gone"), _GONE.values(), ids=_GONE)
async def test_a_deletion_is_done_only_if_this_very_object_is_gone(answer: Answer, gone: bool) -> None:
    carrier, _ = _carrier(answer)
    (outcome,) = await carrier.carry_out([Remove(PODS, "w", "old")])
    assert (outcome.error is None) is gone
