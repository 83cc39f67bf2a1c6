from __future__ import annotations

import asyncio
from collections.abc import Callable

from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.queue import HIGH
from tests.runtime.objects import owned, pod
from tests.runtime.virtual import VirtualClock, run

CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")


class Process:
    """A controller of clusters with a cache of theirs and one of their pods."""

    def __init__(self, priority: Callable[[Key], int] | None = None) -> None:
        self.clusters = Cache(CLUSTERS, KubeObject)
        self.pods = Cache(PODS, Pod)
        self.runs: list[Key] = []
        self.after = DONE
        self.controller = Controller("cluster", self._reconcile, workers=1, clock=VirtualClock(), chance=lambda: 0.5)
        self.controller.watch(self.clusters)
        self.controller.watch(self.pods, _owner, priority)
        self.task = asyncio.ensure_future(self.controller.run())

    async def _reconcile(self, key: Key) -> Result:
        self.runs.append(key)
        return self.after

    async def settle(self, seconds: float = 0.01) -> list[Key]:
        await asyncio.sleep(seconds)
        runs = self.runs.copy()
        self.runs.clear()
        return runs


def _owner(old: Pod | None, new: Pod | None) -> list[Key]:
    found = new or old
    assert found is not None
    owner = controller_of(found)
    return [] if owner is None else [Key(found.metadata.namespace, owner.name)]


def cluster(name: str, version: int) -> tuple[KubeObject, bytes]:
    slim, raw = pod(name, version)
    return KubeObject(slim.metadata), raw


N = Key("a", "n")


def test_changes_of_an_object_and_of_its_children_run_its_key() -> None:
    async def scenario() -> None:
        process = Process()
        process.clusters.replace([cluster("n", 1)], "1")
        assert await process.settle() == [N]
        process.pods.put(*pod("p", 2, ownerReferences=owned("u")))
        process.pods.put(*pod("q", 3, ownerReferences=owned("u")))
        assert await process.settle() == [N], "many changes, one run"
        process.pods.put(*pod("stranger", 4))
        assert await process.settle() == []
        process.pods.remove(Key("a", "p"))
        assert await process.settle() == [N]
        process.task.cancel()

    run(scenario())


def test_edits_come_before_the_first_list() -> None:
    async def scenario() -> None:
        process = Process()
        process.clusters.replace([cluster("a1", 1), cluster("a2", 2)], "2")
        process.clusters.put(*cluster("a2", 3))
        assert await process.settle() == [Key("a", "a2"), Key("a", "a1")]
        process.task.cancel()

    run(scenario())


def test_what_was_begun_is_finished_before_something_new_is_begun() -> None:
    async def scenario() -> None:
        process = Process(priority=lambda key: HIGH if key == N else 0)
        for cache in (process.clusters, process.pods):
            cache.replace([], "1")
        process.clusters.put(*cluster("other", 2))
        process.clusters.put(*cluster("another", 3))
        process.pods.put(*pod("p", 4, ownerReferences=owned("u")))
        assert await process.settle() == [N, Key("a", "other"), Key("a", "another")]
        process.task.cancel()

    run(scenario())


def test_a_key_does_not_run_before_the_caches_show_what_it_wrote() -> None:
    async def scenario() -> None:
        process = Process()
        process.pods.replace([], "5")
        process.controller.wrote(N, process.pods, pod("p", 9)[0])
        process.controller.add(N)
        process.controller.add(Key("a", "other"))
        assert await process.settle(1) == [Key("a", "other")]
        process.pods.put(*pod("p", 9, ownerReferences=owned("u")))
        assert await process.settle(1) == [], "the change is there, but the watch may bring more of the same version"
        process.pods.advance("9")
        assert await process.settle() == [N]
        process.task.cancel()

    run(scenario())


def test_a_key_that_waited_for_its_own_write_keeps_its_place_before_what_is_new() -> None:
    async def scenario() -> None:
        process = Process(priority=lambda key: HIGH if key == N else 0)
        process.clusters.replace([], "1")
        process.pods.replace([], "5")
        process.controller.wrote(N, process.pods, pod("p", 9)[0])
        process.pods.put(*pod("q", 6, ownerReferences=owned("u")))
        assert await process.settle(1) == []
        process.clusters.put(*cluster("other", 7))
        process.clusters.put(*cluster("another", 8))
        process.pods.advance("9")
        assert await process.settle() == [N, Key("a", "other"), Key("a", "another")]
        process.task.cancel()

    run(scenario())


def test_a_write_that_never_shows_holds_its_key_for_half_a_minute() -> None:
    async def scenario() -> None:
        process = Process()
        process.controller.wrote(N, process.pods, pod("p", 9)[0])
        process.controller.add(N)
        assert await process.settle(29) == []
        assert await process.settle(2) == [N]
        process.task.cancel()

    run(scenario())


def test_what_was_written_during_a_run_holds_the_next_one() -> None:
    async def scenario() -> None:
        process = Process()

        async def write(key: Key) -> Result:
            process.runs.append(key)
            if len(process.runs) == 1:
                process.controller.wrote(key, process.pods, pod("p", 9)[0])
                process.controller.add(key)
            return DONE

        process.controller._work = write
        process.controller.add(N)
        await asyncio.sleep(5)
        assert process.runs == [N]
        process.pods.advance("9")
        await asyncio.sleep(0.01)
        assert process.runs == [N, N]
        process.task.cancel()

    run(scenario())
