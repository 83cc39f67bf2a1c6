"""Looks at one object after another and does what was decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from rayward.kube.client.errors import Conflict, NotFound
from rayward.kube.core.objects import OwnerReference
from rayward.kube.runtime.workers import DONE, Result
from rayward.local.controllers.garbage.cluster import Cluster, Policy
from rayward.local.controllers.garbage.decide import (
    Action,
    Delete,
    DropReferences,
    Nothing,
    OrphanDependents,
    RemoveFinalizer,
    Unblock,
    decide,
    needs_owners,
)
from rayward.local.controllers.garbage.graph import ORPHAN, Graph, Node, OwnerState

_log = logging.getLogger(__name__)
_ATTEMPTS: Final = 5
_REMEMBERED: Final = 1_000
_UNTIL_SYNCED: Final = Result(requeue_after=0.2)
# An owner was found that no watch has shown, or its kind is not served. It may come and go between two watches, so
# nothing will tell: look again.
_UNTIL_SEEN: Final = Result(requeue_after=15.0)
# A dependent made just before its owner was told to leave it behind may be on a watch that is slower than the owner's.
# Let go at once, the owner would take it along.
_LATECOMER_SECONDS: Final = 0.3


class Collector:
    """Garbage collection over a graph; ``synced`` says whether the graph shows all dependents."""

    def __init__(self, graph: Graph, cluster: Cluster, *, synced: Callable[[], bool], now: Callable[[], float]) -> None:
        self._graph = graph
        self._cluster = cluster
        self._synced = synced
        self._now = now
        self._absent: dict[tuple[OwnerReference, str], None] = {}
        self._leaving_behind: dict[str, float] = {}

    async def look_at(self, uid: str) -> Result:
        """Do the next step for one object.

        Raises:
            Conflict: It changed meanwhile: look again.
        """
        node = self._graph.get(uid)
        if node is None:
            self._leaving_behind.pop(uid, None)
            return DONE
        if (node.waits_for_dependents or node.orphans_dependents) and not self._synced():
            return _UNTIL_SYNCED
        owners = [await self._owner(reference, node) for reference in node.owners] if needs_owners(node) else []
        circle = node.waits_for_dependents and self._graph.waits_for_itself(uid)
        action = decide(node, owners, self._graph.dependents(uid), in_circle=circle)
        if isinstance(action, Nothing):
            return _UNTIL_SEEN if self._must_look_again(node, owners) else DONE
        _log.info("%s: %s", node, action)
        return await self._do(node, action)

    async def _leave_behind(self, node: Node) -> Result:
        await asyncio.gather(*(self._orphan(dependent, node) for dependent in self._graph.dependents(node.uid)))
        since = self._leaving_behind.setdefault(node.uid, self._now())
        left = since + _LATECOMER_SECONDS - self._now()
        if left > 0:
            return Result(requeue_after=left)
        await self._persist(node, lambda current: self._let_go(current, ORPHAN))
        self._leaving_behind.pop(node.uid, None)
        return DONE

    async def _owner(self, reference: OwnerReference, node: Node) -> OwnerState:
        state = self._graph.owner_state(reference, node.namespace)
        # SOLID never costs an object, and what is ABSENT stays so. One that was WAITING may by now have been told to
        # leave its dependents behind.
        if state in (OwnerState.SOLID, OwnerState.ABSENT):
            return state
        # Many dependents ask for the same owner. What is absent stays so: nobody can choose a uid.
        plain = msgspec.structs.replace(reference, controller=None, block_owner_deletion=None)
        if (plain, node.namespace) in self._absent:
            return OwnerState.ABSENT
        state = await self._cluster.owner_state(reference, node.namespace)
        if state is OwnerState.ABSENT:
            self._absent[plain, node.namespace] = None
            if len(self._absent) > _REMEMBERED:
                del self._absent[next(iter(self._absent))]
        return state

    def _must_look_again(self, node: Node, owners: list[OwnerState]) -> bool:
        return bool(owners) and any(self._graph.get(reference.uid) is None for reference in node.owners)

    async def _do(self, node: Node, action: Action) -> Result:
        match action:
            case Delete(policy):
                await self._while_owners_are(node, lambda current, exact: self._delete(current, policy, exact))
            case DropReferences(owners):
                await self._while_owners_are(node, lambda current, _: self._drop(current, owners))
            case Unblock():
                await self._persist(node, self._unblock)
            case RemoveFinalizer(name):
                await self._persist(node, lambda current: self._let_go(current, name))
            case OrphanDependents():
                return await self._leave_behind(node)
            case Nothing():
                pass
        return DONE

    async def _orphan(self, dependent: Node, owner: Node) -> None:
        await self._persist(dependent, lambda current: self._drop(current, frozenset({owner.uid})))

    async def _while_owners_are(self, node: Node, change: Callable[[Node, bool], Awaitable[None]]) -> None:
        """Make a change that is right only as long as the object has the owners it was decided for.

        If something else about it changed, the change is made all the same: an object that changes all the time must
        not escape.

        Raises:
            Conflict: It has other owners by now: decide again.
        """
        try:
            return await change(node, True)
        except NotFound:
            return None
        except Conflict:
            latest = await self._cluster.latest(node)
            if latest is None:
                return None
            if latest.owners != node.owners:
                raise
        try:
            return await change(latest, False)
        except NotFound:
            return None

    async def _persist(self, node: Node, change: Callable[[Node], Awaitable[None]]) -> None:
        """Make a change that is right for whatever version the object has by now."""
        current = node
        for attempt in range(_ATTEMPTS):
            try:
                return await change(current)
            except NotFound:
                return None
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            latest = await self._cluster.latest(node)
            if latest is None:
                return None
            current = latest
        return None

    async def _delete(self, node: Node, policy: Policy, exact: bool) -> None:
        await self._cluster.delete(node, policy, only_this_version=exact)

    async def _unblock(self, node: Node) -> None:
        free = [msgspec.structs.replace(reference, block_owner_deletion=False) for reference in node.owners]
        await self._cluster.set_owners(node, free)

    async def _drop(self, node: Node, owners: frozenset[str]) -> None:
        kept = [reference for reference in node.owners if reference.uid not in owners]
        if len(kept) < len(node.owners):
            await self._cluster.set_owners(node, kept)

    async def _let_go(self, node: Node, finalizer: str) -> None:
        if finalizer in node.finalizers:
            await self._cluster.set_finalizers(node, [name for name in node.finalizers if name != finalizer])
