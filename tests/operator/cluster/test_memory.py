"""What keeps the loop from acting on caches that lag behind its own writes."""

from __future__ import annotations

import msgspec

from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.operator.cluster.memory import Memory
from rayward.operator.cluster.plan import Note
from rayward.operator.cluster.pod import RayPod


def _pod(name: str, version: str = "5") -> RayPod:
    return RayPod(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=version))


def _cache(version: int, *pods: RayPod) -> Cache[RayPod]:
    cache: Cache[RayPod] = Cache(PODS, RayPod, keep_raw=False)
    cache.replace([(pod, b"") for pod in pods], str(version))
    return cache


def test_a_slot_keeps_its_name_until_the_pod_is_there() -> None:
    memory = Memory()
    suffixes = iter(("first", "second"))
    slot = ("small", 0, 0)
    assert memory.suffix(slot, lambda: next(suffixes)) == "first"
    # Its creation was never answered: the next try must not make another one.
    assert memory.suffix(slot, lambda: next(suffixes)) == "first"
    memory.made(slot, _pod("w"))
    assert memory.suffix(slot, lambda: next(suffixes)) == "second"


def test_a_pod_just_made_counts_before_the_cache_shows_it() -> None:
    memory = Memory()
    memory.made(("small", 0, 0), _pod("w", "7"))
    assert [pod.metadata.name for pod in memory.unseen(_cache(6))] == ["w"]
    assert memory.unseen(_cache(7)) == []


def test_a_pod_just_deleted_counts_as_terminating() -> None:
    memory = Memory()
    memory.removed("uid-w")
    assert memory.as_known(_pod("w")).deleting
    assert not memory.as_known(_pod("other")).deleting
    memory.forget_pods({"uid-other"})
    assert not memory.as_known(_pod("w")).deleting


def test_the_status_last_written_counts_until_the_cache_shows_it() -> None:
    memory = Memory()
    cluster = RayCluster(metadata=ObjectMeta(name="c", resource_version="3"))
    memory.told_status("4", RayClusterStatus(state="ready"))
    assert memory.with_status(cluster).status.state == "ready"
    seen = msgspec.structs.replace(cluster, metadata=ObjectMeta(name="c", resource_version="4"))
    assert memory.with_status(seen).status.state == ""


def test_a_note_is_told_once_for_each_generation() -> None:
    memory = Memory()
    note = Note("Warning", "Odd", "it is odd")
    assert memory.news((note,), 1) == [note]
    assert memory.news((note,), 1) == []
    assert memory.news((note,), 2) == [note]
