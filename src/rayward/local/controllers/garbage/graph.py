"""Who owns whom, as far as the watches have told.

An owner that no watch has shown is no node; its dependents are known all the same, by its uid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final

import msgspec

from rayward.kube.core.objects import KubeObject, OwnerReference
from rayward.kube.core.resource import Resource

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_REMEMBERED: Final = 10_000


class Node(msgspec.Struct, frozen=True, gc=False):
    """What garbage collection must know of one object."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    resource_version: str
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False

    @property
    def waits_for_dependents(self) -> bool:
        """Deleted in the foreground: it goes after its dependents."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """Deleted as one that leaves its dependents behind."""
        return self.deleting and ORPHAN in self.finalizers

    def __str__(self) -> str:
        return f"{self.resource} {self.namespace}/{self.name}" if self.namespace else f"{self.resource} {self.name}"


class OwnerState(Enum):
    """What an owner reference points to."""

    SOLID = auto()
    """It exists."""
    WAITING = auto()
    """It exists and is deleted in the foreground."""
    ABSENT = auto()
    """It does not exist; an object of that name with another uid does not count."""
    UNKNOWN = auto()
    """The server must be asked."""


def node_of(resource: Resource, found: KubeObject) -> Node:
    """The node of an object as the server showed it."""
    metadata = found.metadata
    return Node(
        resource,
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        metadata.owner_references or (),
        metadata.finalizers or (),
        metadata.deletion_timestamp is not None,
    )


def refers_to(reference: OwnerReference, namespace: str, owner: Node) -> bool:
    """Whether a reference on an object in ``namespace`` means ``owner``; its version does not matter."""
    return (
        reference.uid == owner.uid
        and reference.kind == owner.resource.kind
        and reference.name == owner.name
        and group_of(reference.api_version) == owner.resource.group
        and owner.namespace in ("", namespace)
    )


def group_of(api_version: str) -> str:
    """The group in an ``apiVersion``."""
    return api_version.rpartition("/")[0]


def blocks(reference: OwnerReference, owner: str) -> bool:
    """Whether the reference holds up the foreground deletion of the owner with that uid."""
    return reference.uid == owner and reference.block_owner_deletion is True


class Graph:
    """The nodes and, for each uid, its dependents. Every change says whose situation it may have changed."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._gone: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        """The node with that uid."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[Node]:
        """The nodes that name ``uid`` as an owner."""
        return [self._nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def waits_for_itself(self, uid: str) -> bool:
        """Whether an object deleted in the foreground waits for others so deleted, and one of these for it."""
        seen = set[str]()
        open_ends = [uid]
        while open_ends:
            waiting = open_ends.pop()
            for dependent in self.dependents(waiting):
                if dependent.uid in seen or not dependent.waits_for_dependents:
                    continue
                if any(blocks(reference, waiting) for reference in dependent.owners):
                    if dependent.uid == uid:
                        return True
                    seen.add(dependent.uid)
                    open_ends.append(dependent.uid)
        return False

    def owner_state(self, reference: OwnerReference, namespace: str) -> OwnerState:
        """What the graph knows of the owner of an object in ``namespace``."""
        owner = self._nodes.get(reference.uid)
        if owner is None:
            # A uid is never given twice, so one that was seen to go stays away.
            return OwnerState.ABSENT if reference.uid in self._gone else OwnerState.UNKNOWN
        if not refers_to(reference, namespace, owner):
            return OwnerState.UNKNOWN
        return OwnerState.WAITING if owner.waits_for_dependents else OwnerState.SOLID

    def observe(self, node: Node) -> set[str]:
        """An object is there in this state; returns the uids to look at."""
        old = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        before = old.owners if old is not None else ()
        if before != node.owners:
            self._relink(node.uid, before, node.owners)
        look = {node.uid} if self._deserves_a_look(node) else set[str]()
        if old is None:
            # A dependent that was seen first may have named this owner by another name, kind or namespace.
            look.update(d.uid for d in self.dependents(node.uid) if not _all_refer(d, node))
        if node.waits_for_dependents and not (old is not None and old.waits_for_dependents):
            look.update(self._dependents.get(node.uid, ()))
        look.update(self._released(before, node))
        return look

    def remove(self, uid: str) -> set[str]:
        """An object is gone for good; returns the uids to look at."""
        look = self.forget(uid)
        self._gone[uid] = None
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]
        return look

    def forget(self, uid: str) -> set[str]:
        """An object is no longer watched, which says nothing about whether it exists."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return set()
        self._relink(uid, node.owners, ())
        look = set(self._dependents.get(uid, ()))
        look.update(self._released(node.owners, None))
        return look

    def _deserves_a_look(self, node: Node) -> bool:
        if node.deleting:
            return node.waits_for_dependents or node.orphans_dependents
        return any(self.owner_state(reference, node.namespace) is not OwnerState.SOLID for reference in node.owners)

    def _released(self, before: Iterable[OwnerReference], node: Node | None) -> Iterator[str]:
        """Owners deleted in the foreground that a node held up before and does no more."""
        for reference in before:
            if not reference.block_owner_deletion:
                continue
            if node is not None and any(blocks(now, reference.uid) for now in node.owners):
                continue
            owner = self._nodes.get(reference.uid)
            if owner is not None and owner.waits_for_dependents:
                yield owner.uid

    def _relink(self, uid: str, before: Iterable[OwnerReference], after: Iterable[OwnerReference]) -> None:
        kept = {reference.uid for reference in after}
        for reference in before:
            if reference.uid not in kept and (dependents := self._dependents.get(reference.uid)):
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[reference.uid]
        for owner in kept:
            self._dependents.setdefault(owner, {})[uid] = None


def _all_refer(dependent: Node, owner: Node) -> bool:
    return all(
        refers_to(reference, dependent.namespace, owner) for reference in dependent.owners if reference.uid == owner.uid
    )
