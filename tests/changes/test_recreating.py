"""Recreating an object, on a server that nobody else acts on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rayward.changes.outcomes import UsageError
from rayward.changes.recreating import recreate
from rayward.changes.refs import Ref
from rayward.changes.steps import NextChange, Operation, Send, run
from rayward.changes.writing import Written
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError, Gone, from_status
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from tests.kinds.clusters import changed, manifest


def _with_watches_that_are_too_old(
    operation: Operation[Written], elsewhere: Callable[[], object], release: Callable[[], object]
) -> Operation[Written]:
    """The same operation on a server that has forgotten what was before a change elsewhere; then its holder lets go."""
    forgotten, released, step = 0, False, next(operation)
    while True:
        if isinstance(step, NextChange):
            version = int(step.resource_version)
            if not forgotten:
                elsewhere()
                forgotten = version
                expired = from_status({"reason": "Expired", "message": "too old resource version"}, 410)
                assert isinstance(expired, Gone)
                step = operation.throw(expired)
                continue
            assert version > forgotten, "an object that nobody changes has the version that is too old, still"
            if not released:
                release()
                released = True
        try:
            answer = yield step
        except ApiError as error:
            step = operation.throw(error)
            continue
        try:
            step = operation.send(answer)
        except StopIteration as done:
            assert forgotten
            return done.value


def test_a_watch_that_is_too_old_is_begun_again_where_a_list_ends(client: SyncClient, namespace: str) -> None:
    ref = Ref("RayCluster", "c", namespace)
    held = changed(changed(manifest(), "metadata.namespace", namespace), "metadata.finalizers", ["example.com/held"])
    before = client.create(RAY_CLUSTERS, held, namespace)

    def elsewhere() -> None:
        other = changed(changed(manifest(), "metadata.namespace", namespace), "metadata.name", "other")
        client.create(RAY_CLUSTERS, other, namespace)

    def release() -> None:
        client.patch(RAY_CLUSTERS, "c", {"metadata": {"finalizers": None}}, PatchType.MERGE, namespace)

    operation = recreate(ref, approve="c", timeout=60)
    made = run(client, _with_watches_that_are_too_old(operation, elsewhere, release))
    assert made.object["metadata"]["uid"] != before["metadata"]["uid"]


def test_the_longest_name_of_a_raycluster_can_be_recreated(client: SyncClient, namespace: str) -> None:
    name = "c" * 53
    held = changed(changed(manifest(), "metadata.namespace", namespace), "metadata.name", name)
    before = client.create(RAY_CLUSTERS, held, namespace)
    made = run(client, recreate(Ref("RayCluster", name, namespace), approve=name, timeout=60))
    assert made.object["metadata"]["uid"] != before["metadata"]["uid"]


class _KilledError(Exception):
    pass


def _killed_before_it_creates(operation: Operation[Written]) -> Operation[Written]:
    """The same operation, which ends when the object is to be created again."""
    step = next(operation)
    while True:
        if isinstance(step, Send) and step.request.method == "POST" and "rayclusters" in step.request.target:
            raise _KilledError
        try:
            answer = yield step
        except ApiError as error:
            step = operation.throw(error)
            continue
        step = operation.send(answer)


def test_an_unfinished_recreation_is_not_finished_with_another_manifest(client: SyncClient, namespace: str) -> None:
    """What was deleted was approved for the first one: neither is made in silence."""
    ref = Ref("RayCluster", "c", namespace)
    first = changed(manifest(), "metadata.namespace", namespace)
    client.create(RAY_CLUSTERS, first, namespace)
    second = changed(first, "spec.rayVersion", "2.99.0")
    with pytest.raises(_KilledError):
        run(client, _killed_before_it_creates(recreate(ref, first, approve="c", timeout=60)))
    with pytest.raises(UsageError, match="an earlier recreation of raycluster/c is not finished"):
        run(client, recreate(ref, second, approve="c", timeout=60))
    made = run(client, recreate(ref, first, approve="c", timeout=60))
    assert made.object["spec"]["rayVersion"] == first["spec"]["rayVersion"]
