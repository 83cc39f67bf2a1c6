"""Waiting, on a server whose status somebody writes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

import pytest

from rayward.changes import history, waiting, writing
from rayward.changes.intents import Scale, SetField, SetImage
from rayward.changes.judging import State, Verdict
from rayward.changes.outcomes import ChangeError, Conflict, NotFound, RolledBack, RolloutFailed, WaitTimeout
from rayward.changes.refs import Ref
from rayward.changes.steps import run, run_async
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client as ApiClient
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS
from rayward.sdk import Client
from tests.changes.beside import with_another_writer
from tests.kinds.clusters import Object, manifest

Write = Callable[[SyncClient], object]


def _status(ref: Ref, generation: int, ready: str, reason: str = "R") -> Write:
    conditions = [
        {
            "type": "Ready",
            "status": ready,
            "reason": reason,
            "message": "",
            "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    body: Object = {"status": {"observedGeneration": generation, "conditions": conditions}}
    return lambda client: client.patch(
        RAY_CLUSTERS, ref.name, body, PatchType.MERGE, ref.namespace, subresource="status"
    )


@contextmanager
def _after_each_state(access: Access, *writes: Write) -> Generator[Callable[[Verdict], None]]:
    """Somebody who makes the next write when the one who waits has told a state."""
    states = threading.Semaphore(0)

    def work() -> None:
        with SyncClient.connect(access) as own:
            for write in writes:
                states.acquire()
                write(own)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield lambda _verdict: states.release()
    finally:
        for _ in writes:
            states.release()
        thread.join()


def _made(client: SyncClient, namespace: str) -> tuple[Ref, int]:
    ref = Ref("RayCluster", "c", namespace)
    made = run(client, writing.apply(ref, manifest()))
    return ref, made.object["metadata"]["generation"]


def test_each_state_is_told_once_until_it_is_done(access: Access, client: SyncClient, namespace: str) -> None:
    ref, generation = _made(client, namespace)
    told: list[str] = []
    writes = (_status(ref, generation, "False", "Starting"), _status(ref, generation, "True", "AllReady"))
    with _after_each_state(access, *writes) as tell:

        def both(verdict: Verdict) -> None:
            told.append(verdict.reason)
            tell(verdict)

        waited = run(client, waiting.wait(ref, generation, timeout=60, tell=both))
    assert told == ["NotObserved", "Starting", "AllReady"]
    assert waited.verdict.reason == "AllReady"


def test_it_costs_one_watch_and_one_read(access: Access, namespace: str, client: SyncClient) -> None:
    ref, generation = _made(client, namespace)
    seen: list[str] = []

    async def go() -> None:
        def observe(request: Request, _status: int) -> None:
            seen.append("watch" if "watch=true" in request.target else request.method)

        with _after_each_state(access, _status(ref, generation, "True")) as tell:
            async with ApiClient.connect(access, observe=observe) as own:
                await run_async(own, waiting.wait(ref, generation, timeout=60, tell=tell))

    asyncio.run(go())
    assert seen == ["GET", "watch"]


def test_what_cannot_come_true_fails_at_once(access: Access, client: SyncClient, namespace: str) -> None:
    ref, generation = _made(client, namespace)
    with (
        _after_each_state(access, _status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(RolloutFailed, match="InvalidImageName"),
    ):
        run(client, waiting.wait(ref, generation, timeout=60, tell=tell))


def test_a_timeout_changes_nothing(client: SyncClient, namespace: str) -> None:
    ref, generation = _made(client, namespace)
    before = run(client, writing.read(ref))
    with pytest.raises(WaitTimeout) as caught:
        run(client, waiting.wait(ref, generation, timeout=0.2))
    assert caught.value.code == 124
    assert run(client, writing.read(ref)) == before


def _as_kuberay_has_it(client: SyncClient, ref: Ref, generation: int) -> None:
    """The status of a cluster whose head is ready and that has no workers."""
    status: Object = {"observedGeneration": generation, "state": "ready", "desiredWorkerReplicas": 0}
    ready = {"status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status["conditions"] = [{"type": "HeadPodReady", **ready}]
    client.patch(RAY_CLUSTERS, ref.name, {"status": status}, PatchType.MERGE, ref.namespace, subresource="status")


def test_a_scale_is_done_where_a_registry_mirror_has_changed_the_images(client: SyncClient, namespace: str) -> None:
    ref, _ = _made(client, namespace)
    (container, *_) = manifest()["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    mirrored = {**container, "image": f"mirror.example.com/{container['image']}"}
    told = {"name": "c-head", "labels": {labels.CLUSTER: "c", labels.NODE_TYPE: labels.HEAD}}
    client.create(PODS, {"metadata": told, "spec": {"containers": [mirrored]}}, namespace)
    ready: Object = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    client.patch(PODS, "c-head", ready, PatchType.MERGE, namespace, subresource="status")
    sdk = Client(client, namespace=namespace)

    scaled = sdk.scale(ref, "small", 2)
    _as_kuberay_has_it(client, ref, scaled.object["metadata"]["generation"])
    assert sdk.settle(scaled, timeout=60).verdict.state is State.APPLIED

    edited = sdk.set(ref, SetImage("rayproject/ray:2.61.0"))
    _as_kuberay_has_it(client, ref, edited.object["metadata"]["generation"])
    with pytest.raises(RolloutFailed, match="OlderPods"):
        sdk.settle(edited, timeout=60)


def test_another_edit_or_a_deletion_ends_it(access: Access, client: SyncClient, namespace: str) -> None:
    ref, generation = _made(client, namespace)

    def edit(own: SyncClient) -> None:
        run(own, writing.change(ref, [Scale("small", 2)]))

    with _after_each_state(access, edit) as tell, pytest.raises(Conflict, match="superseded"):
        run(client, waiting.wait(ref, generation, timeout=60, tell=tell))

    def delete(own: SyncClient) -> None:
        own.delete(RAY_CLUSTERS, "c", namespace)

    with _after_each_state(access, delete) as tell, pytest.raises(NotFound, match="deleted"):
        run(client, waiting.wait(ref, timeout=60, tell=tell))


def test_a_failed_change_is_rolled_back_where_that_is_asked_for(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = _made(client, namespace)
    sdk = Client(client, namespace=namespace)
    written = sdk.scale(ref, "small", 2)
    generation = written.object["metadata"]["generation"]
    with (
        _after_each_state(access, _status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(RolledBack) as caught,
    ):
        sdk.settle(written, timeout=60, on_failure="rollback", tell=tell)
    assert caught.value.code == 9
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 1
    outcomes = [one.outcome for one in run(client, history.history(ref))]
    assert outcomes[-2:] == ["InvalidImageName", ""]
    # that one is known to fail, and what it was rolled back to has no other before it
    with pytest.raises(NotFound, match="each revision that differs failed"):
        sdk.undo(ref)


def test_a_newer_edit_is_not_rolled_back(access: Access, client: SyncClient, namespace: str) -> None:
    ref, _ = _made(client, namespace)
    sdk = Client(client, namespace=namespace)
    written = sdk.set(ref, SetField("rayVersion", "2.61.0"))
    generation = written.object["metadata"]["generation"]

    def colleague(verdict: Verdict) -> None:
        tell(verdict)
        if verdict.state is State.FAILED:
            client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.62.0"}}, PatchType.MERGE, namespace)

    with (
        _after_each_state(access, _status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(Conflict, match=f"generation {generation + 1} has been asked for since") as caught,
    ):
        sdk.settle(written, timeout=60, on_failure="rollback", tell=colleague)
    assert "InvalidImageName" in caught.value.why
    assert sdk.get(ref)["spec"]["rayVersion"] == "2.62.0"


def test_an_edit_between_the_reading_and_the_undo_stays(client: SyncClient, namespace: str) -> None:
    ref, generation = _made(client, namespace)
    sdk = Client(client, namespace=namespace)
    sdk.set(ref, SetField("rayVersion", "2.61.0"))

    def colleague() -> None:
        client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.62.0"}}, PatchType.MERGE, namespace)

    operation = history.undo(ref, generation=generation + 1)
    # the fourth request reads what is to be replaced
    edited = with_another_writer(operation, 4, colleague)
    with pytest.raises(Conflict, match="asked for since"):
        run(client, edited)
    assert sdk.get(ref)["spec"]["rayVersion"] == "2.62.0"


def test_what_failed_before_is_not_rolled_back_to(access: Access, client: SyncClient, namespace: str) -> None:
    ref, _ = _made(client, namespace)
    sdk = Client(client, namespace=namespace)
    ends: tuple[tuple[int, Literal["hold", "rollback"], type[ChangeError]], ...] = (
        (2, "hold", RolloutFailed),
        (3, "rollback", RolledBack),
    )
    said = ""
    for replicas, on_failure, expected in ends:
        written = sdk.scale(ref, "small", replicas)
        generation = written.object["metadata"]["generation"]
        with (
            _after_each_state(access, _status(ref, generation, "False", "InvalidImageName")) as tell,
            pytest.raises(expected) as caught,
        ):
            sdk.settle(written, timeout=60, on_failure=on_failure, tell=tell)
        said = caught.value.what
    assert "rolled back to revision 1" in said
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 1


def test_a_first_release_that_failed_is_no_place_to_go_back_to(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = _made(client, namespace)
    sdk = Client(client, namespace=namespace)
    run(client, history.history(ref))
    run(client, history.record_outcome(ref, sdk.get(ref), "InvalidImageName", 1.0, failed=True))
    written = sdk.scale(ref, "small", 2)
    generation = written.object["metadata"]["generation"]
    with (
        _after_each_state(access, _status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(RolloutFailed, match="InvalidImageName") as caught,
    ):
        sdk.settle(written, timeout=60, on_failure="rollback", tell=tell)
    assert "not rolled back" in caught.value.why
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 2
