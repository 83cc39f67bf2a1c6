"""Recreating an object, on a server that nobody else acts on."""

from __future__ import annotations

from collections.abc import Callable

from rayward.changes.recreating import recreate
from rayward.changes.refs import Ref
from rayward.changes.steps import NextChange, Operation, run
from rayward.changes.writing import Written
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError, Gone, from_status
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from tests.kinds.clusters import changed, manifest


def _with_a_watch_that_is_too_old(operation: Operation[Written], release: Callable[[], object]) -> Operation[Written]:
    """The same operation, whose first watch the server refuses; what holds the object lets go meanwhile."""
    refused, step = False, next(operation)
    while True:
        if isinstance(step, NextChange) and not refused:
            refused = True
            release()
            expired = from_status({"reason": "Expired", "message": "too old resource version"}, 410)
            assert isinstance(expired, Gone)
            step = operation.throw(expired)
            continue
        try:
            answer = yield step
        except ApiError as error:
            step = operation.throw(error)
            continue
        try:
            step = operation.send(answer)
        except StopIteration as done:
            assert refused
            return done.value


def test_a_watch_that_is_too_old_is_begun_again(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    held = changed(changed(manifest(), "metadata.namespace", namespace), "metadata.finalizers", ["example.com/held"])
    before = client.create(RAY_CLUSTERS, held, namespace)

    def release() -> None:
        client.patch(RAY_CLUSTERS, "c", {"metadata": {"finalizers": None}}, PatchType.MERGE, namespace)

    operation = recreate(ref, approve="c", timeout=60)
    made = run(client, _with_a_watch_that_is_too_old(operation, release))
    assert made.object["metadata"]["uid"] != before["metadata"]["uid"]
