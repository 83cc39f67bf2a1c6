"""What to do about one object, as kube-controller-manager would.

The rules are those of Kubernetes' garbage collector (pkg/controller/garbagecollector): an object goes when it has
owners and none of them exists, or when all that exist wait for their dependents; while one other owner exists,
references to the rest are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from rayward.local.controllers.garbage.graph import FOREGROUND, ORPHAN, Node, OwnerState, blocks


class Nothing(msgspec.Struct, frozen=True):
    """It may stay as it is."""


class Delete(msgspec.Struct, frozen=True):
    policy: Literal["Foreground", "Background", "Orphan"]


class Unblock(msgspec.Struct, frozen=True):
    """Let its references hold up no owner."""


class DropReferences(msgspec.Struct, frozen=True):
    """Remove the references to these owners from it."""

    owners: frozenset[str]


class RemoveFinalizer(msgspec.Struct, frozen=True):
    name: str


class OrphanDependents(msgspec.Struct, frozen=True):
    """Remove the references to it from its dependents, then let it go."""


Action = Nothing | Delete | Unblock | DropReferences | RemoveFinalizer | OrphanDependents

NOTHING: Final = Nothing()


def needs_owners(node: Node) -> bool:
    """Whether the state of its owners decides about this object."""
    return bool(node.owners) and not node.deleting


def decide(node: Node, owners: Sequence[OwnerState], dependents: Sequence[Node], *, in_circle: bool = False) -> Action:
    """The next step for ``node``, whose references point to ``owners``, in their order.

    ``in_circle``: it waits for objects that wait, in the end, for it. Kubernetes guesses such circles before they close
    and misses those that close at once; seeing them closed misses none.
    """
    if node.orphans_dependents:
        return OrphanDependents()
    if node.waits_for_dependents:
        if not any(blocks(reference, node.uid) for dependent in dependents for reference in dependent.owners):
            return RemoveFinalizer(FOREGROUND)
        holds_up = any(reference.block_owner_deletion for reference in node.owners)
        return Unblock() if in_circle and holds_up else NOTHING
    if not needs_owners(node) or OwnerState.UNKNOWN in owners:
        return NOTHING
    if OwnerState.SOLID in owners:
        return _drop(node, owners)
    if OwnerState.WAITING in owners and dependents:
        return Delete("Foreground")
    if ORPHAN in node.finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in node.finalizers else "Background")


def _drop(node: Node, owners: Sequence[OwnerState]) -> Action:
    # A reference to a waiting owner goes too: it would wait for ever for an object that stays.
    states = list(zip(node.owners, owners, strict=True))
    solid = {reference.uid for reference, state in states if state is OwnerState.SOLID}
    dropped = frozenset(reference.uid for reference, _ in states if reference.uid not in solid)
    return DropReferences(dropped) if dropped else NOTHING
