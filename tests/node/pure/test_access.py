"""Who may use the node's endpoint."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.local.node.endpoint.access import Gate
from rayward.net.errors import ConnectionLost
from tests.client.recording import answer_json


class Server:
    """Knows one token, and may be away or out of order."""

    def __init__(self) -> None:
        self.away = False
        self.broken = False
        self.asked = 0

    async def request(self, request: Request) -> Response:
        self.asked += 1
        if self.away:
            raise ConnectionLost("away")
        if self.broken:
            return answer_json(500, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500})
        body: dict[str, Any] = orjson.loads(request.body or b"{}")
        known = body["spec"].get("token") == "good"
        user = {"username": "me", "groups": ["system:masters"]}
        return answer_json(201, {**body, "status": {"authenticated": known, "user": user if known else {}}})

    def stream(self, request: Request) -> Any:
        raise AssertionError(request)

    async def close(self) -> None:
        pass


def _gate(server: Server) -> Gate:
    return Gate(Client(server), "node", now=lambda: 0.0)


def test_an_answer_is_remembered() -> None:
    server = Server()
    gate = _gate(server)
    answers = [asyncio.run(gate.check(None, token)) for token in ("good", "bad", "good", "bad")]
    assert answers == [200, 401, 200, 401]
    assert server.asked == 2


def test_a_server_that_cannot_be_asked_is_no_refusal_and_is_asked_again() -> None:
    server = Server()
    gate = _gate(server)
    server.away = True
    assert asyncio.run(gate.check(None, "good")) == 500
    server.away, server.broken = False, True
    assert asyncio.run(gate.check(None, "good")) == 500
    server.broken = False
    assert asyncio.run(gate.check(None, "good")) == 200
