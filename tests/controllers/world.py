"""A server small enough to be certain of, with watches that lag behind and users who interfere."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from random import Random

import msgspec

from rayward.kube.client.errors import Conflict, NotFound
from rayward.kube.core.objects import OwnerReference
from rayward.kube.core.resource import Resource
from rayward.local.controllers.garbage.cluster import Policy
from rayward.local.controllers.garbage.collector import Collector
from rayward.local.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Node, OwnerState, blocks, refers_to

_POLICY_FINALIZER = {"Foreground": FOREGROUND, "Orphan": ORPHAN, "Background": ""}


class World:
    """Objects by uid; every change goes to the watch of its collection, in order."""

    def __init__(self, *, prompt: bool = False, random: Random | None = None) -> None:
        self.objects: dict[str, Node] = {}
        self.graph = Graph()
        self.queue: set[str] = set()
        self.wrongs: list[str] = []
        self._prompt = prompt
        self._random = random or Random(0)
        self._version = 0
        self._waited: set[str] = set()
        self._watches: dict[Resource, deque[Node | str]] = {}

    # what users do

    def create(self, node: Node) -> None:
        self._put(node)

    def user_deletes(self, uid: str, policy: Policy) -> None:
        if uid in self.objects:
            self._delete(self.objects[uid], policy)

    def release(self, uid: str, finalizer: str) -> None:
        """Whoever put another finalizer on it is done."""
        if (node := self.objects.get(uid)) is not None and finalizer in node.finalizers:
            self._put(msgspec.structs.replace(node, finalizers=tuple(f for f in node.finalizers if f != finalizer)))

    def touch(self, uid: str) -> None:
        """Something else about it changes."""
        if uid in self.objects:
            self._put(self.objects[uid])

    # the requests of the collector

    async def owner_state(self, reference: OwnerReference, namespace: str) -> OwnerState:
        await self._meanwhile()
        owner = self.objects.get(reference.uid)
        if owner is None or not refers_to(reference, namespace, owner):
            return OwnerState.ABSENT
        return OwnerState.WAITING if owner.waits_for_dependents else OwnerState.SOLID

    async def latest(self, node: Node) -> Node | None:
        await self._meanwhile()
        return self.objects.get(node.uid)

    async def delete(self, node: Node, policy: Policy, *, only_this_version: bool) -> None:
        current = await self._current(node, check_version=only_this_version)
        for reference in current.owners:
            owner = self.objects.get(reference.uid)
            # One that waited a moment ago, and by now was told to leave its dependents behind, comes too late.
            if owner and refers_to(reference, current.namespace, owner) and owner.uid not in self._waited:
                self.wrongs.append(f"{current} was deleted though {owner} is there")
        self._delete(current, policy)

    async def set_owners(self, node: Node, owners: Sequence[OwnerReference]) -> Node:
        current = await self._current(node)
        return self._put(msgspec.structs.replace(current, owners=tuple(owners)))

    async def set_finalizers(self, node: Node, finalizers: Sequence[str]) -> Node:
        current = await self._current(node)
        if self._prompt and FOREGROUND in current.finalizers and FOREGROUND not in finalizers:
            for other in self.objects.values():
                if any(blocks(reference, current.uid) for reference in other.owners):
                    self.wrongs.append(f"{current} went before {other}")
        return self._put(msgspec.structs.replace(current, finalizers=tuple(finalizers)))

    # watches

    def deliver(self, random: Random) -> bool:
        """Let one watch tell its next change; False when all is told."""
        waiting = [changes for changes in self._watches.values() if changes]
        if not waiting:
            return False
        change = random.choice(waiting).popleft()
        self.queue |= self.graph.remove(change) if isinstance(change, str) else self.graph.observe(change)
        return True

    async def _meanwhile(self) -> None:
        for _ in range(self._random.choice((0, 0, 1, 3))):
            await asyncio.sleep(0)

    async def _current(self, node: Node, check_version: bool = True) -> Node:
        await self._meanwhile()
        current = self.objects.get(node.uid)
        if current is None:
            raise NotFound(404, "NotFound", "gone", {}, None)
        if check_version and current.resource_version != node.resource_version:
            raise Conflict(409, "Conflict", "changed", {}, None)
        return current

    def _delete(self, node: Node, policy: Policy) -> None:
        finalizers = tuple(f for f in node.finalizers if f not in (FOREGROUND, ORPHAN))
        if wanted := _POLICY_FINALIZER[policy]:
            finalizers = (*finalizers, wanted)
        self._put(msgspec.structs.replace(node, deleting=True, finalizers=finalizers))

    def _put(self, node: Node) -> Node:
        self._version += 1
        node = msgspec.structs.replace(node, resource_version=str(self._version))
        if node.deleting and not node.finalizers:
            self.objects.pop(node.uid, None)
            self._tell(node.resource, node.uid)
        else:
            self.objects[node.uid] = node
            if node.waits_for_dependents:
                self._waited.add(node.uid)
            self._tell(node.resource, node)
        return node

    def _tell(self, resource: Resource, change: Node | str) -> None:
        self._watches.setdefault(resource, deque()).append(change)
        if self._prompt:
            self.deliver(self._random)


async def settle(world: World, random: Random, users: Sequence[tuple[str, str]] = ()) -> None:
    """Let users, watches and several workers act in any order until nothing is left to do.

    ``users`` are (deed, uid): a policy to delete with, ``touch``, or a finalizer to release.
    """
    now = 0.0
    collector = Collector(world.graph, world, synced=lambda: True, now=lambda: now)
    deeds = deque(users)
    running: dict[str, asyncio.Task[None]] = {}
    later: set[str] = set()

    async def look(uid: str) -> None:
        try:
            if (await collector.look_at(uid)).requeue_after is not None:
                later.add(uid)
        except Conflict:
            world.queue.add(uid)

    looked_again = 0
    while True:
        for uid in [uid for uid, task in running.items() if task.done()]:
            running.pop(uid).result()
        ready = sorted(world.queue - running.keys())
        choice = random.random()
        if deeds and choice < 0.2:
            _act(world, *deeds.popleft())
        elif choice < 0.5 and world.deliver(random):
            pass
        elif ready and len(running) < 4:
            uid = random.choice(ready)
            world.queue.discard(uid)
            running[uid] = asyncio.create_task(look(uid))
        elif not (deeds or ready or running or world.deliver(random)):
            if not later or looked_again > 3:
                return
            looked_again += 1
            now += 100.0
            world.queue |= later
            later.clear()
        await asyncio.sleep(0)


def _act(world: World, deed: str, uid: str) -> None:
    if deed in _POLICY_FINALIZER:
        world.user_deletes(uid, deed)  # pyright: ignore[reportArgumentType]
    elif deed == "touch":
        world.touch(uid)
    else:
        world.release(uid, deed)
