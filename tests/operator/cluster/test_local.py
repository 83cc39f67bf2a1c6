"""What keeps the loop from acting on caches that lag behind its own writes."""

from __future__ import annotations

import msgspec

from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.operator.cluster.local import LocalState
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import Event


def _pod(name: str, version: str = "5") -> RayPod:
    return RayPod(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=version))


def _cache(version: int, *pods: RayPod) -> Cache[RayPod]:
    cache: Cache[RayPod] = Cache(PODS, RayPod, keep_raw=False)
    cache.replace([(pod, b"") for pod in pods], str(version))
    return cache


def test_a_slot_keeps_its_name_until_the_pod_is_there() -> None:
    local = LocalState()
    suffixes = iter(("first", "second"))
    slot = ("small", 0, 0)
    assert local.suffix(slot, lambda: next(suffixes)) == "first"
    # Its creation was never answered: the next try must not make another one.
    assert local.suffix(slot, lambda: next(suffixes)) == "first"
    local.pod_created(slot, _pod("w"))
    assert local.suffix(slot, lambda: next(suffixes)) == "second"


def test_a_pod_just_made_counts_before_the_cache_shows_it() -> None:
    local = LocalState()
    local.pod_created(("small", 0, 0), _pod("w", "7"))
    assert [pod.metadata.name for pod in local.unseen(_cache(6))] == ["w"]
    assert local.unseen(_cache(7)) == []


def test_a_pod_just_deleted_counts_as_terminating() -> None:
    local = LocalState()
    local.pod_deleted("uid-w")
    assert local.with_deletion(_pod("w")).deleting
    assert not local.with_deletion(_pod("other")).deleting
    local.keep_pods({"uid-other"})
    assert not local.with_deletion(_pod("w")).deleting


def test_the_status_last_written_counts_until_the_cache_shows_it() -> None:
    local = LocalState()
    cluster = RayCluster(metadata=ObjectMeta(name="c", resource_version="3"))
    local.status_written("4", RayClusterStatus(state="ready"))
    assert local.with_status(cluster).status.state == "ready"
    seen = msgspec.structs.replace(cluster, metadata=ObjectMeta(name="c", resource_version="4"))
    assert local.with_status(seen).status.state == ""


def test_a_note_is_told_once_for_each_generation() -> None:
    local = LocalState()
    event = Event("Warning", "Odd", "it is odd")
    assert local.new_events((event,), 1) == [event]
    assert local.new_events((event,), 1) == []
    assert local.new_events((event,), 2) == [event]


def test_what_was_emitted_is_remembered_within_bounds() -> None:
    local = LocalState()
    events = [Event("Warning", "Odd", f"it is odd: {number}") for number in range(10_000)]
    assert local.new_events(events, 1) == events
    again = local.new_events(events[:1], 1)
    assert again == events[:1], "a problem that is told in ever new words costs repetitions, not memory"
