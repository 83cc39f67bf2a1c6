"""What becomes of a write: it is waited for, and undone where it fails."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import pytest

from rayward.changes import history, settling, waiting, writing
from rayward.changes.intents import Scale, SetField
from rayward.changes.judging import State, Verdict
from rayward.changes.outcomes import ChangeError, Conflict, NotFound, RolledBack, RolloutFailed
from rayward.changes.refs import Ref
from rayward.changes.settling import Settling
from rayward.changes.steps import Operation, Send, run
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.net.errors import NetworkError
from rayward.sdk import Client
from tests.changes.beside import with_another_writer
from tests.changes.telling import after_each_state, made_cluster, status
from tests.kinds.clusters import manifest

T = TypeVar("T")


def test_a_failed_change_is_rolled_back_where_that_is_asked_for(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = made_cluster(client, namespace)
    sdk = Client(client, namespace=namespace)
    written = sdk.scale(ref, "small", 2)
    generation = written.object["metadata"]["generation"]
    told: list[str] = []
    # the fourth state is that of the generation before, which is not true again until somebody says so
    writes = (
        status(ref, generation, "False", "InvalidImageName"),
        lambda _client: None,
        status(ref, generation + 1, "False", "PodsStarting"),
        status(ref, generation + 1, "True", "AllPodsReady"),
    )
    with after_each_state(access, *writes) as tell:

        def both(verdict: Verdict) -> None:
            told.append(verdict.reason)
            tell(verdict)

        with pytest.raises(RolledBack) as caught:
            sdk.settle(written, timeout=60, on_failure="rollback", tell=both)
    assert told == ["NotObserved", "InvalidImageName", "NotObserved", "PodsStarting", "AllPodsReady"]
    assert caught.value.code == 9
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 1
    outcomes = [one.outcome for one in run(client, history.history(ref))]
    assert outcomes[-2:] == ["InvalidImageName", "AllPodsReady"]
    # that one is known to fail, and what it was rolled back to has no other before it
    with pytest.raises(NotFound, match="each revision that differs failed"):
        sdk.undo(ref)


def _with_lost_connections(operation: Operation[T]) -> Operation[T]:
    """The same operation, each of whose requests is lost when it is made for the first time."""
    lost: set[Request] = set()
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return done.value
        answer, failure = None, None
        if isinstance(step, Send) and step.request not in lost:
            lost.add(step.request)
            failure = NetworkError("connection reset")
            continue
        try:
            answer = yield step
        except ApiError as error:
            failure = error


def test_a_connection_that_is_lost_keeps_no_change_from_being_rolled_back(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = made_cluster(client, namespace)
    written = run(client, writing.change(ref, [Scale("small", 2)]))
    generation = written.object["metadata"]["generation"]
    status(ref, generation, "False", "InvalidImageName")(client)
    writes = (lambda _client: None, status(ref, generation + 1, "True"))
    with after_each_state(access, *writes) as tell, pytest.raises(RolledBack):
        run(client, _with_lost_connections(settling.settle(written, Settling(60, "rollback"), namespace, tell)))
    assert run(client, writing.read(ref))["spec"]["workerGroupSpecs"][0]["replicas"] == 1


def test_going_back_that_does_not_come_true_is_a_failure_and_no_rollback(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = made_cluster(client, namespace)
    sdk = Client(client, namespace=namespace)
    written = sdk.scale(ref, "small", 2)
    generation = written.object["metadata"]["generation"]
    writes = (
        status(ref, generation, "False", "InvalidImageName"),
        lambda _client: None,
        status(ref, generation + 1, "False", "ErrImageNeverPull"),
    )
    with after_each_state(access, *writes) as tell, pytest.raises(RolloutFailed) as caught:
        sdk.settle(written, timeout=60, on_failure="rollback", tell=tell)
    assert caught.value.code == 8
    assert "rolled back to revision 1, which is not ready either" in caught.value.what
    assert "ErrImageNeverPull" in caught.value.why


def test_a_newer_edit_is_not_rolled_back(access: Access, client: SyncClient, namespace: str) -> None:
    ref, _ = made_cluster(client, namespace)
    sdk = Client(client, namespace=namespace)
    written = sdk.set(ref, SetField("rayVersion", "2.61.0"))
    generation = written.object["metadata"]["generation"]

    def colleague(verdict: Verdict) -> None:
        tell(verdict)
        if verdict.state is State.FAILED:
            client.patch(RAY_CLUSTERS, "c", {"spec": {"rayVersion": "2.62.0"}}, PatchType.MERGE, namespace)

    with (
        after_each_state(access, status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(Conflict, match=f"generation {generation + 1} has been asked for since") as caught,
    ):
        sdk.settle(written, timeout=60, on_failure="rollback", tell=colleague)
    assert "InvalidImageName" in caught.value.why
    assert sdk.get(ref)["spec"]["rayVersion"] == "2.62.0"


def test_an_edit_between_the_reading_and_the_undo_stays(client: SyncClient, namespace: str) -> None:
    ref, generation = made_cluster(client, namespace)
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
    ref, _ = made_cluster(client, namespace)
    sdk = Client(client, namespace=namespace)
    ends: tuple[tuple[int, Literal["hold", "rollback"], type[ChangeError]], ...] = (
        (2, "hold", RolloutFailed),
        (3, "rollback", RolledBack),
    )
    said = ""
    for replicas, on_failure, expected in ends:
        written = sdk.scale(ref, "small", replicas)
        generation = written.object["metadata"]["generation"]
        writes = [status(ref, generation, "False", "InvalidImageName")]
        if on_failure == "rollback":
            writes += [lambda _client: None, status(ref, generation + 1, "True")]
        with after_each_state(access, *writes) as tell, pytest.raises(expected) as caught:
            sdk.settle(written, timeout=60, on_failure=on_failure, tell=tell)
        said = caught.value.what
    assert "rolled back to revision 1" in said
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 1


def test_a_first_release_that_failed_is_no_place_to_go_back_to(
    access: Access, client: SyncClient, namespace: str
) -> None:
    ref, _ = made_cluster(client, namespace)
    sdk = Client(client, namespace=namespace)
    run(client, history.history(ref))
    run(client, history.record_outcome(ref, sdk.get(ref), "InvalidImageName", 1.0, failed=True))
    written = sdk.scale(ref, "small", 2)
    generation = written.object["metadata"]["generation"]
    with (
        after_each_state(access, status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(RolloutFailed, match="InvalidImageName") as caught,
    ):
        sdk.settle(written, timeout=60, on_failure="rollback", tell=tell)
    assert "not rolled back" in caught.value.why
    assert sdk.get(ref)["spec"]["workerGroupSpecs"][0]["replicas"] == 2


def test_several_objects_are_waited_for_by_one_watch(access: Access, client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    names = ("one", "two", "three")
    written = sdk.apply_all([{**manifest(), "metadata": {"name": name}} for name in names])
    seen: list[str] = []
    watch = client.watch

    def counted(resource: Any, *arguments: Any, **options: Any) -> Any:
        seen.append(resource.kind)
        return watch(resource, *arguments, **options)

    told: list[tuple[str, str]] = []
    ends = {"one": ("False", "InvalidImageName"), "two": ("True", "AllPodsReady"), "three": ("True", "AllPodsReady")}
    writes = [status(Ref("RayCluster", name, namespace), 1, *ends[name]) for name in reversed(names)]
    with pytest.MonkeyPatch.context() as patched, after_each_state(access, *writes) as tell:
        patched.setattr(client, "watch", counted)

        def both(ref: Ref, verdict: Verdict) -> None:
            told.append((ref.name, verdict.reason))
            tell(verdict)

        done = sdk.settle_all(written, timeout=60, tell=both)
    assert seen == ["RayCluster"]
    assert isinstance(done[0], RolloutFailed)
    assert [one.verdict.reason for one in done[1:] if isinstance(one, waiting.Waited)] == ["AllPodsReady"] * 2
    assert set(told) == {(name, reason) for name in names for reason in ("NotObserved", ends[name][1])}
