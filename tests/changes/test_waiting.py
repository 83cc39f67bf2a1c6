"""Waiting, on a server whose status somebody writes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from rayward.changes import waiting, writing
from rayward.changes.intents import Scale, SetImage
from rayward.changes.judging import State, Verdict
from rayward.changes.outcomes import Conflict, NotFound, QuotaBlocked, RolloutFailed, WaitTimeout
from rayward.changes.refs import Ref
from rayward.changes.steps import (
    BOOKMARK,
    Backoff,
    NextChange,
    Operation,
    Pause,
    Send,
    Step,
    run,
    run_async,
)
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client as ApiClient
from rayward.kube.client.errors import Gone, ServiceUnavailable, from_status
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.client.watch import Bookmark, WatchFailed
from rayward.kube.core.resource import PODS
from rayward.net.errors import NetworkError
from rayward.sdk import Client
from tests.changes.telling import after_each_state, made_cluster, status
from tests.kinds.clusters import Object, manifest, service_manifest

T = TypeVar("T")


def test_each_state_is_told_once_until_it_is_done(access: Access, client: SyncClient, namespace: str) -> None:
    ref, generation = made_cluster(client, namespace)
    told: list[str] = []
    writes = (status(ref, generation, "False", "Starting"), status(ref, generation, "True", "AllReady"))
    with after_each_state(access, *writes) as tell:

        def both(verdict: Verdict) -> None:
            told.append(verdict.reason)
            tell(verdict)

        waited = run(client, waiting.wait(ref, generation, timeout=60, tell=both))
    assert told == ["NotObserved", "Starting", "AllReady"]
    assert waited.verdict.reason == "AllReady"


def test_it_costs_one_watch_and_one_read(access: Access, namespace: str, client: SyncClient) -> None:
    ref, generation = made_cluster(client, namespace)
    seen: list[str] = []

    async def go() -> None:
        def observe(request: Request, _status: int) -> None:
            seen.append("watch" if "watch=true" in request.target else request.method)

        with after_each_state(access, status(ref, generation, "True")) as tell:
            async with ApiClient.connect(access, observe=observe) as own:
                await run_async(own, waiting.wait(ref, generation, timeout=60, tell=tell))

    asyncio.run(go())
    assert seen == ["GET", "watch"]


def test_what_cannot_come_true_fails_at_once(access: Access, client: SyncClient, namespace: str) -> None:
    ref, generation = made_cluster(client, namespace)
    with (
        after_each_state(access, status(ref, generation, "False", "InvalidImageName")) as tell,
        pytest.raises(RolloutFailed, match="InvalidImageName"),
    ):
        run(client, waiting.wait(ref, generation, timeout=60, tell=tell))


def test_a_timeout_changes_nothing(client: SyncClient, namespace: str) -> None:
    ref, generation = made_cluster(client, namespace)
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
    ref, _ = made_cluster(client, namespace)
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
    ref, generation = made_cluster(client, namespace)

    def edit(own: SyncClient) -> None:
        run(own, writing.change(ref, [Scale("small", 2)]))

    with after_each_state(access, edit) as tell, pytest.raises(Conflict, match="superseded"):
        run(client, waiting.wait(ref, generation, timeout=60, tell=tell))

    def delete(own: SyncClient) -> None:
        own.delete(RAY_CLUSTERS, "c", namespace)

    with after_each_state(access, delete) as tell, pytest.raises(NotFound, match="deleted"):
        run(client, waiting.wait(ref, timeout=60, tell=tell))


def _played(operation: Operation[T], answers: Iterable[Object | Exception]) -> tuple[list[Step], T]:
    """Carry out an operation on a clock of its own; a pause and a backoff pass at once, each watch after its seconds.

    Reads and changes are answered in turn, the last answer again and again.
    """
    steps: list[Step] = []
    left = list(answers)
    now = 0.0
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return steps, done.value
        steps.append(step)
        answer, failure = now, None
        if isinstance(step, Pause | NextChange):
            now += step.seconds
        if isinstance(step, Backoff):
            now += step.seconds(0.5)
        if isinstance(step, Send | NextChange):
            answer = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(answer, Exception):
                failure = answer


def _cluster(ready: str, reason: str, message: str = "pod c-head: why") -> Object:
    told = {"type": "Ready", "status": ready, "reason": reason, "message": message, "observedGeneration": 1}
    body = {**manifest(), "status": {"observedGeneration": 1 if ready == "True" else 0, "conditions": [told]}}
    body["metadata"] = {**body["metadata"], "generation": 1, "resourceVersion": "1"}
    return body


_REF = Ref("RayCluster", "c", "default")


def test_a_server_that_is_away_is_asked_again() -> None:
    lost = NetworkError("connection reset")
    restarting = ServiceUnavailable(503, "ServiceUnavailable", "starting", {}, None)
    starting, ready = _cluster("False", "PodsStarting"), _cluster("True", "AllPodsReady")
    answers = (starting, starting, restarting, lost, lost, lost, starting, ready)
    steps, waited = _played(waiting.wait(_REF, 1, timeout=6000), answers)
    assert waited.verdict.state is State.APPLIED
    assert sum(isinstance(step, Backoff) for step in steps) == 3
    with pytest.raises(NetworkError):
        _played(waiting.wait(_REF, 1, timeout=60), (starting, restarting, lost))
    with pytest.raises(NetworkError):
        _played(waiting.wait(_REF, 1, timeout=60), (lost,))


def test_a_watch_that_breaks_has_ended() -> None:
    """Whoever waits reads again, and watches anew."""

    class _Broken:
        opened = 0

        def send(self, _request: Request) -> Object:
            return _cluster("True" if self.opened > 1 else "False", "R")

        @contextmanager
        def watch(self, *_arguments: Any, **_options: Any) -> Generator[Iterator[Any]]:
            self.opened += 1
            if self.opened == 1:
                raise NetworkError("no connection")

            def events() -> Iterator[Any]:
                raise NetworkError("reset")
                yield

            yield events()

    client: Any = _Broken()
    assert run(client, waiting.wait(_REF, 1, timeout=60)).verdict.state is State.APPLIED
    assert client.opened == 2


def _at(operation: Operation[T], *states: tuple[float, Object]) -> T:
    """Carry out an operation on an object that comes to be so at these seconds."""
    now, left = 0.0, list(states)
    live = left.pop(0)[1]
    answer: Any = None
    for _ in range(500):
        try:
            step = operation.send(answer)
        except StopIteration as done:
            return done.value
        answer = live if isinstance(step, Send) else now
        if isinstance(step, NextChange) and left and left[0][0] <= now + step.seconds:
            now, answer = left.pop(0)
            live = answer
        elif isinstance(step, NextChange):
            now, answer = now + step.seconds, None
    raise AssertionError("it goes on and on")


def _deployed(status: str, generation: int = 1) -> Object:
    body = service_manifest()
    applications = {"app": {"status": status, "message": "why"}}
    ready = {"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints"}
    told = {"rayClusterName": "s-1", "applicationStatuses": applications}
    metadata = {**body["metadata"], "generation": generation, "resourceVersion": "1"}
    return {**body, "metadata": metadata, "status": {"conditions": [ready], "activeServiceStatus": told}}


def test_a_cause_that_was_away_for_longer_than_it_is_borne_with_begins_anew() -> None:
    failing, starting = _cluster("False", "ImagePullBackOff"), _cluster("False", "PodsStarting")
    ready = _cluster("True", "AllPodsReady")
    waited = _at(waiting.wait(_REF, 1), (0, failing), (5, starting), (500, failing), (550, ready))
    assert (waited.verdict.state, waited.seconds) == (State.APPLIED, 550)


@pytest.mark.parametrize(("gone", "back", "fails"), [(40, 50, 60), (55, 62, 62), (5, 500, 560)])
def test_a_cause_that_comes_back_soon_has_lasted(gone: float, back: float, fails: float) -> None:
    failing, starting = _cluster("False", "ImagePullBackOff"), _cluster("False", "PodsStarting")
    with pytest.raises(RolloutFailed) as caught:
        _at(waiting.wait(_REF, 1), (0, failing), (gone, starting), (back, failing))
    assert caught.value.seconds == fails


def _blocked() -> Object:
    body = _cluster("False", "WaitingForQuota")
    told = {"type": "QuotaReserved", "status": "False", "reason": "ExceedsMaxQuota", "observedGeneration": 1}
    body["status"]["conditions"].append(told)
    return body


def test_a_quota_that_was_raised_just_now_is_waited_for_until_the_status_is_of_it() -> None:
    waiting_for_it, ready = _cluster("False", "PodsStarting"), _cluster("True", "AllPodsReady")
    waited = _at(waiting.wait(_REF, 1), (0, _blocked()), (1, _blocked()), (3, waiting_for_it), (20, ready))
    assert (waited.verdict.state, waited.seconds) == (State.APPLIED, 20)


@pytest.mark.parametrize(
    ("since", "timeout", "ends"),
    [
        pytest.param(0, 600, 10, id="by a status that may be of an earlier quota"),
        pytest.param(0, 4, 4, id="a timeout does not hide why"),
        pytest.param(5, 600, 5, id="by a newer status"),
    ],
)
def test_a_change_that_never_fits_its_quota_is_blocked(since: float, timeout: float, ends: float) -> None:
    told: list[Verdict] = []
    states = [(since, _blocked())] if since == 0 else [(0.0, _cluster("False", "PodsStarting")), (since, _blocked())]
    operation, steps = waiting.wait(_REF, 1, timeout=timeout, tell=told.append), list[Step]()
    with pytest.raises(QuotaBlocked):
        _at(_noting(operation, steps), *states)
    assert told[-1].state is State.BLOCKED
    if since == 0:
        assert sum(step.seconds for step in steps if isinstance(step, NextChange)) == ends


def test_an_application_that_ray_begins_to_deploy_again_has_its_time_again() -> None:
    ref = Ref("RayService", "s", "default")
    states = [(0, _deployed("DEPLOY_FAILED")), (5, _deployed("DEPLOYING")), (16, _deployed("DEPLOY_FAILED"))]
    other = _deployed("DEPLOYING", 2)
    other["spec"]["serveConfigV2"] += "# other\n"
    with pytest.raises(Conflict, match="superseded"):
        _at(waiting.wait(ref, 1), *states, (20, other))
    with pytest.raises(RolloutFailed, match="DEPLOY_FAILED") as caught:
        _at(waiting.wait(ref, 1), *states)
    assert caught.value.seconds == 31


def test_an_operator_that_writes_a_spec_back_with_empty_fields_supersedes_nothing() -> None:
    ref = Ref("RayService", "s", "default")
    asked, back = _deployed("DEPLOYING"), _deployed("RUNNING", 2)
    back["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["metadata"] = {}
    for group in back["spec"]["rayClusterConfig"].get("workerGroupSpecs", []):
        group["scaleStrategy"] = {}
    before: list[tuple[float, Object]] = [(0, asked)]
    for states in (before, []):
        told: list[Verdict] = []
        with pytest.raises(WaitTimeout):
            _at(waiting.wait(ref, 1, asked=asked, tell=told.append, timeout=60), *states, (1, back))
        assert State.SUPERSEDED not in {verdict.state for verdict in told}


class _WatchesEnd:
    """A server whose watches end at once; where ``told`` is given, they tell it from the version of a list on."""

    def __init__(self, live: Object, told: Object | None = None, *, forbidden: bool = False) -> None:
        self.live, self.told, self.forbidden = live, told, forbidden
        self.now = 0.0
        self.steps: list[Step] = []

    def play(self, operation: Operation[T]) -> T:
        answer: Any = None
        failure: Exception | None = None
        while True:
            try:
                step = operation.throw(failure) if failure is not None else operation.send(answer)
            except StopIteration as done:
                return done.value
            self.steps.append(step)
            assert len(self.steps) < 2000, "asked without a pause"
            answer, failure = self.now, None
            if isinstance(step, Backoff):
                self.now += step.seconds(0.5)
            elif isinstance(step, Send):
                answer, failure = self._read(step.request)
            elif isinstance(step, NextChange):
                expired = self.told is not None and step.resource_version != "50"
                answer, failure = self.told, _EXPIRED if expired else None

    def _read(self, request: Request) -> tuple[Object, Exception | None]:
        if "fieldSelector" not in request.target:
            return self.live, None
        return {"metadata": {"resourceVersion": "50"}, "items": [self.live]}, _FORBIDDEN if self.forbidden else None


_EXPIRED = from_status({"reason": "Expired", "message": "too old resource version"}, 410)
_FORBIDDEN = from_status({"reason": "Forbidden", "message": "cannot list"}, 403)


def test_a_watch_from_a_version_that_is_too_old_begins_where_a_list_ends() -> None:
    world = _WatchesEnd(_cluster("False", "PodsStarting"), _cluster("True", "AllPodsReady"))
    assert world.play(waiting.wait(_REF, 1, timeout=60)).verdict.state is State.APPLIED
    assert [step.resource_version for step in world.steps if isinstance(step, NextChange)] == ["1", "50"]
    assert sum(isinstance(step, Send) for step in world.steps) == 2


@pytest.mark.parametrize("told", [None, _cluster("True", "AllPodsReady")])
def test_watches_that_end_at_once_are_opened_in_growing_pauses(told: Object | None) -> None:
    world = _WatchesEnd(_cluster("False", "PodsStarting"), told, forbidden=True)
    with pytest.raises(WaitTimeout):
        world.play(waiting.wait(_REF, 1, timeout=60))
    assert sum(isinstance(step, NextChange) for step in world.steps) < 60


def test_a_server_that_says_gone_in_the_stream_is_heard() -> None:
    class _Expired:
        @contextmanager
        def watch(self, *_arguments: Any, **_options: Any) -> Generator[Iterator[Any]]:
            yield iter([WatchFailed(_EXPIRED)])

    def operation() -> Operation[object]:
        return (yield NextChange(RAY_CLUSTERS, "default", "c", "1", 60))

    client: Any = _Expired()
    with pytest.raises(Gone):
        run(client, operation())


def test_a_watch_that_was_slow_to_open_is_not_opened_again_for_the_next_change() -> None:
    clock = [0.0]
    opened: list[str] = []

    class _Slow:
        @contextmanager
        def watch(self, *_arguments: Any, resource_version: str, **_options: Any) -> Generator[Iterator[Any]]:
            clock[0] = 30.0
            opened.append(resource_version)
            yield iter([Bookmark("2", False), Bookmark("3", False)])

    def operation() -> Operation[tuple[Any, Any]]:
        first = yield NextChange(RAY_CLUSTERS, "default", "c", "1", 60)
        return first, (yield NextChange(RAY_CLUSTERS, "default", "c", "2", 29))

    client: Any = _Slow()
    assert run(client, operation(), now=lambda: clock[0]) == (BOOKMARK, BOOKMARK)
    assert opened == ["1"]


def test_a_cause_that_lasts_ends_the_wait_and_one_that_goes_does_not() -> None:
    failing, other = _cluster("False", "ImagePullBackOff"), _cluster("False", "ImagePullBackOff", "pod c-w: why")
    with pytest.raises(RolloutFailed, match="ImagePullBackOff") as caught:
        _played(waiting.wait(_REF, 1, timeout=600), (failing,))
    assert caught.value.why == "pod c-head: why"
    assert 60 <= caught.value.seconds < 65
    starting, ready = _cluster("False", "PodsStarting"), _cluster("True", "AllPodsReady")
    _, waited = _played(waiting.wait(_REF, 1, timeout=2000), (failing, starting, other, starting, ready))
    assert waited.verdict.state is State.APPLIED
    with pytest.raises(WaitTimeout):
        _played(waiting.wait(_REF, 1, timeout=600), (starting,))


def test_a_pod_that_no_node_takes_is_waited_for_until_the_timeout_which_says_so() -> None:
    pending = _cluster("False", "Unschedulable", "pod c-head: 0/3 nodes are available")
    with pytest.raises(WaitTimeout) as caught:
        _played(waiting.wait(_REF, 1, timeout=1200), (pending,))
    assert caught.value.why == "Unschedulable: pod c-head: 0/3 nodes are available"


def test_what_no_event_tells_is_asked_in_growing_pauses() -> None:
    body = {**manifest(), "metadata": {**manifest()["metadata"], "generation": 1, "resourceVersion": "1"}}
    head = {"type": "HeadPodReady", "status": "True", "reason": "R", "message": ""}
    body["status"] = {"observedGeneration": 1, "state": "ready", "desiredWorkerReplicas": 0, "conditions": [head]}
    operation = waiting.wait(_REF, 1, timeout=600)

    def answers() -> Iterator[Object]:
        while True:
            yield body
            yield {"items": []}

    with pytest.raises(WaitTimeout) as caught:
        _played(operation, itertools.islice(answers(), 1000))
    assert caught.value.code == 124
    body["metadata"]["resourceVersion"] = "2"
    steps: list[Step] = []
    with contextlib.suppress(WaitTimeout):
        _played(_noting(waiting.wait(_REF, 1, timeout=600), steps), itertools.islice(answers(), 1000))
    assert sum(isinstance(step, Pause) for step in steps) <= 65
    assert sum(isinstance(step, Send) for step in steps) <= 2 * 65


def _noting(operation: Operation[T], steps: list[Step]) -> Operation[T]:
    answer: Any = None
    while True:
        try:
            step = operation.send(answer)
        except StopIteration as done:
            return done.value
        steps.append(step)
        answer = yield step
