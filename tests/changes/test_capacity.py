"""What is free on the nodes, as a plan reads it."""

from __future__ import annotations

from typing import Any

from rayward.changes.capacity import free_on_nodes
from rayward.changes.steps import Send
from rayward.kube.client.errors import ApiError, Forbidden
from tests.kinds.clusters import Object


def _node(name: str, cpu: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": {"cpu": cpu, "memory": "8Gi"}}}


def _pod(node: str, cpu: str) -> Object:
    return {"spec": {"nodeName": node, "containers": [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]}}


def _free(*answers: Object | ApiError) -> list[dict[str, str]] | None:
    operation = free_on_nodes()
    step = next(operation)
    try:
        for answer in answers:
            assert isinstance(step, Send)
            step = operation.throw(answer) if isinstance(answer, ApiError) else operation.send(answer)
    except StopIteration as done:
        return done.value and [{name: str(amount) for name, amount in one.free.items()} for one in done.value]
    raise AssertionError("it asks for more")


def test_what_pods_request_is_not_free() -> None:
    nodes = {"items": [_node("a", "4"), _node("b", "2"), _node("c", "9", unschedulable=True)]}
    pods = {"items": [_pod("a", "1500m"), _pod("a", "500m"), _pod("gone", "1"), _pod("c", "1")]}
    assert _free(nodes, pods) == [{"cpu": "2", "memory": "8Gi"}, {"cpu": "2", "memory": "8Gi"}]


def test_what_may_not_be_read_or_is_too_much_is_not_known() -> None:
    assert _free(Forbidden(403, "Forbidden", "nodes", {}, None)) is None
    assert _free({"items": [_node("a", "4")]}, {"metadata": {"continue": "more"}, "items": []}) is None
    assert _free({"items": []}, {"items": []}) is None
