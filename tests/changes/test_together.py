"""Operations on several objects that share one watch."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from rayward.changes.judging import State, Verdict
from rayward.changes.outcomes import NotFound
from rayward.changes.refs import Ref
from rayward.changes.steps import GONE, Backoff, NextChange, NextOfKind, Now, Operation, Pause, Step
from rayward.changes.together import together
from rayward.changes.waiting import Waited
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import Gone, from_status
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.objects import ObjectMeta
from rayward.sdk import Client
from tests.kinds.clusters import Object, manifest

T = TypeVar("T")

_EXPIRED = from_status({"reason": "Expired", "message": "too old resource version"}, 410)


def _waiting(name: str, version: str) -> Operation[Any]:
    """What the next change of an object is, or why none is told; ``uid`` and generation as the object has them."""
    try:
        return (yield NextChange(RAY_CLUSTERS, "default", name, version, 60, uid="new", generation=2))
    except Gone as gone:
        return gone


def _told(operation: Operation[T], *answers: Any) -> tuple[list[Step], T]:
    """Carry out an operation whose watches tell these in turn; the clock moves with pauses and watches that end."""
    steps: list[Step] = []
    left, now = list(answers), 0.0
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return steps, done.value
        steps.append(step)
        answer, failure = now, None
        if isinstance(step, Pause):
            now += step.seconds
        if isinstance(step, NextOfKind):
            answer = left.pop(0)
            now += step.seconds if answer is None else 0
            failure = answer if isinstance(answer, Exception) else None


def _meta(name: str, version: str, uid: str = "new", generation: int = 2) -> ObjectMeta:
    return ObjectMeta(name=name, resource_version=version, uid=uid, generation=generation)


@pytest.mark.parametrize(
    ("version", "old", "new"),
    [
        ("20", _meta("b", "9"), _meta("b", "21")),
        ("20", _meta("b", "20"), _meta("b", "100")),
        ("v20", _meta("b", "v9", uid="old"), _meta("b", "v21")),
        ("v20", _meta("b", "v9", generation=1), _meta("b", "v21", generation=3)),
    ],
)
@pytest.mark.parametrize("was", [GONE, {"spec": "old"}])
def test_what_a_watch_of_several_tells_of_before_an_object_was_read_is_no_news(
    version: str, old: ObjectMeta, new: ObjectMeta, was: Any
) -> None:
    """It begins at the oldest version that one of them waits from, and tells of all since."""
    both = together([_waiting("b", version), _waiting("a", "5")])
    _, ended = _told(both, (old, was), (new, {"spec": "new"}), (_meta("a", "22"), GONE))
    assert ended == ({"spec": "new"}, GONE)


def test_a_watch_of_several_begins_where_none_of_them_misses_anything() -> None:
    def soon() -> Operation[Any]:
        yield NextChange(RAY_CLUSTERS, "default", "b", "6", 1)
        return (yield from _waiting("b", "100"))

    both = together([soon(), _waiting("a", "9")])
    steps, _ = _told(both, None, (_meta("a", "50"), {}), (_meta("b", "101"), {}))
    versions = [step.resource_version for step in steps if isinstance(step, NextOfKind)]
    assert versions == ["6", "9", "100"]


def test_all_hear_that_the_watch_of_several_is_too_old() -> None:
    _, ended = _told(together([_waiting("a", "5"), _waiting("b", "6")]), _EXPIRED)
    assert ended == (_EXPIRED, _EXPIRED)


def test_several_that_wait_for_a_server_do_so_at_the_same_time() -> None:
    def patient(name: str) -> Operation[str]:
        yield Backoff(7)
        return name

    steps, ended = _told(together([patient("a"), patient("b")]))
    assert ended == ("a", "b")
    assert [step for step in steps if not isinstance(step, Now)] == [Pause(Backoff(7).seconds(0.5))]


def test_an_object_that_was_made_anew_before_it_is_waited_for_was_not_deleted(
    client: SyncClient, namespace: str
) -> None:
    sdk = Client(client, namespace=namespace)
    one, two = ({**manifest(), "metadata": {"name": name}} for name in ("one", "two"))
    written = [*sdk.apply_all([one, two])]
    client.delete(RAY_CLUSTERS, "two", namespace)
    written[1] = sdk.apply(two)

    def ready(ref: Ref, verdict: Verdict) -> None:
        if verdict.state is State.PROGRESSING:
            client.patch(RAY_CLUSTERS, ref.name, _READY, PatchType.MERGE, namespace, subresource="status")

    done = sdk.settle_all(written, timeout=60, tell=ready)
    assert [one.verdict.reason for one in done if isinstance(one, Waited)] == ["AllPodsReady"] * 2


def test_an_object_that_is_deleted_while_it_is_waited_for_keeps_no_other_back(
    client: SyncClient, namespace: str
) -> None:
    sdk = Client(client, namespace=namespace)
    written = sdk.apply_all([{**manifest(), "metadata": {"name": name}} for name in ("one", "two")])

    def deleted(ref: Ref, verdict: Verdict) -> None:
        if verdict.state is State.PROGRESSING and ref.name == "two":
            client.delete(RAY_CLUSTERS, "two", namespace)
            client.patch(RAY_CLUSTERS, "one", _READY, PatchType.MERGE, namespace, subresource="status")

    one, two = sdk.settle_all(written, timeout=60, tell=deleted)
    assert isinstance(one, Waited)
    assert isinstance(two, NotFound)
    assert "deleted during the wait" in two.what


_AT = "2026-01-01T00:00:00Z"
_TOLD = {"reason": "AllPodsReady", "message": "", "observedGeneration": 1, "lastTransitionTime": _AT}
_READY: Object = {"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", **_TOLD}]}}
