"""The recorder of a cluster, asked without a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayward.changes.outcomes import NotFound, Unavailable, UsageError
from rayward.changes.refs import Ref
from rayward.changes.steps import Send
from rayward.changes.timeline import Entry, Store
from rayward.changes.timeline.asking import Place, ask_recorder, parse_place
from rayward.changes.timeline.serving import Recorded, TimelineServer

_REF = Ref("RayService", "shop", "team")


def _entry(at: str, name: str, namespace: str = "team", owner: str = "") -> Entry:
    return Entry(at, namespace, "RayService" if not owner else "Pod", name, "condition", "x", owner=owner)


async def _get(server: TimelineServer, path: str, query: str) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(part: dict[str, Any]) -> None:
        sent.append(part)

    await server({"type": "http", "method": "GET", "path": path, "query_string": query.encode()}, None, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.anyio
async def test_only_what_concerns_the_object_is_served_and_since_when() -> None:
    store = Store()
    store.append([_entry("2026-01-01T00:00:01Z", "other"), _entry("2026-01-01T00:00:02Z", "shop")])
    store.append(
        [
            _entry("2026-01-01T00:00:03Z", "shop", "elsewhere"),
            _entry("2026-01-01T00:00:04Z", "p", owner="RayService/shop"),
        ]
    )
    server = TimelineServer(store, "2026-01-01T00:00:09Z")
    status, body = await _get(server, "/timeline", "namespace=team&object=rayservice%2Fshop")
    found = json.loads(body)
    assert (status, found["since"], found["durable"]) == (200, "2026-01-01T00:00:01Z", False)
    assert [one["at"][-3:-1] for one in found["items"]] == ["02", "04"]
    assert (await _get(server, "/timeline", ""))[0] == 404
    assert (await _get(server, "/", "namespace=team&object=a"))[0] == 404
    _, body = await _get(TimelineServer(Store(), "2026-01-01T00:00:09Z"), "/timeline", "namespace=a&object=b")
    assert json.loads(body)["since"] == "2026-01-01T00:00:09Z"


def test_the_operator_that_leads_is_asked() -> None:
    operation = ask_recorder(_REF, parse_place("rayward-system:8084"))
    lease = next(operation)
    assert isinstance(lease, Send)
    assert lease.request.target.startswith("/apis/coordination.k8s.io/v1/namespaces/rayward-system/leases/")
    asked = operation.send({"spec": {"holderIdentity": "rayward-operator-7d_x_1_ab"}})
    assert isinstance(asked, Send)
    path, _, query = asked.request.target.partition("?")
    assert path == "/api/v1/namespaces/rayward-system/pods/rayward-operator-7d_x:8084/proxy/timeline"
    assert query == "namespace=team&object=rayservice%2Fshop"
    with pytest.raises(StopIteration) as done:
        operation.send({"since": "2026-01-01T00:00:00Z", "durable": True})
    assert done.value.value == Recorded("2026-01-01T00:00:00Z", durable=True)


def test_nobody_who_leads_and_somebody_who_answers_otherwise_are_told_apart() -> None:
    operation = ask_recorder(_REF, Place("ns", "", 1))
    next(operation)
    with pytest.raises(NotFound, match="no operator leads"):
        operation.send({"spec": {}})
    operation = ask_recorder(_REF, Place("ns", "pod", 1))
    next(operation)
    with pytest.raises(Unavailable, match="has no timeline"):
        operation.send({"hello": "world"})


@pytest.mark.parametrize("text", ["", "ns", "ns:", ":1", "ns:x", "/pod:1"])
def test_what_names_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        parse_place(text)
