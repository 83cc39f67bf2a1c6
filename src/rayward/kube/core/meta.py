"""Owners and conditions, as pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from rayward.kube.core.objects import Condition, KubeObject, OwnerReference
from rayward.kube.core.resource import Resource


def controller_of(owned: KubeObject) -> OwnerReference | None:
    """The owner that manages ``owned``."""
    return next((owner for owner in owned.metadata.owner_references or () if owner.controller), None)


def is_controlled_by(owned: KubeObject, owner: KubeObject) -> bool:
    """Whether ``owner``, this very one and none made anew under its name, manages ``owned``."""
    found = controller_of(owned)
    return found is not None and found.uid == owner.metadata.uid


def controller_reference(owner: KubeObject, resource: Resource) -> OwnerReference:
    """What a child of ``owner`` carries."""
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def controlled_by(owner: KubeObject, resource: Resource) -> dict[str, Any]:
    """The same reference, as a manifest has it."""
    return msgspec.to_builtins(controller_reference(owner, resource))


def condition_of(conditions: Iterable[Condition] | None, kind: str) -> Condition | None:
    """The condition of one type."""
    for found in conditions or ():
        if found.type == kind:
            return found
    return None


def is_true(conditions: Iterable[Condition] | None, kind: str) -> bool:
    """Whether the condition of one type is there and True."""
    found = condition_of(conditions, kind)
    return found is not None and found.status == "True"


def with_condition(conditions: Sequence[Condition] | None, new: Condition, now: datetime) -> tuple[Condition, ...]:
    """The conditions with ``new`` in place; the transition time moves only when the status changes."""
    before = condition_of(conditions, new.type)
    kept = before.last_transition_time if before is not None and before.status == new.status else None
    when = kept or rfc3339(now)
    placed = msgspec.structs.replace(new, last_transition_time=when)
    if before is None:
        return (*(conditions or ()), placed)
    return tuple(placed if found.type == new.type else found for found in conditions or ())


def without_condition(conditions: Sequence[Condition] | None, kind: str) -> tuple[Condition, ...]:
    """The conditions without the one of a type."""
    return tuple(found for found in conditions or () if found.type != kind)


def rfc3339(moment: datetime) -> str:
    """A metav1.Time: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(moment: datetime) -> str:
    """A metav1.MicroTime: six digits of a second, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """A time that an API server wrote.

    Raises:
        ValueError: It is no RFC 3339 time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
