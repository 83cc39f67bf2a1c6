"""What the status of a namespace tells while it is deleted, in Kubernetes' own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from rayward.kube.core.meta import with_condition
from rayward.kube.core.objects import Condition
from rayward.kube.core.resource import Resource


class Remains(msgspec.Struct, frozen=True):
    """What a pass over the contents of a namespace found."""

    instances: Mapping[Resource, int] = {}
    """How many objects of each collection are still there."""
    finalizers: Mapping[str, int] = {}
    """How many of these wait for each finalizer."""
    failures: tuple[str, ...] = ()
    """What could not be deleted or counted, and why."""
    discovery_failure: str = ""
    """Why it is not known what the server serves."""

    @property
    def empty(self) -> bool:
        """Whether the namespace is certainly empty."""
        return not (self.instances or self.failures or self.discovery_failure)


# Type, and reason and message as long as all is well.
_FINE: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


def conditions(before: Sequence[Condition] | None, remains: Remains, now: datetime) -> tuple[Condition, ...]:
    """The conditions after a pass; times move only with the status."""
    after = tuple(before or ())
    troubles = _troubles(remains)
    for kind, reason, message in _FINE:
        status = "False"
        if kind in troubles:
            status, (reason, message) = "True", troubles[kind]
        after = with_condition(after, Condition(kind, status, reason, message), now)
    return after


def _troubles(remains: Remains) -> dict[str, tuple[str, str]]:
    troubles: dict[str, tuple[str, str]] = {}
    if remains.discovery_failure:
        troubles["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", remains.discovery_failure)
    if remains.failures:
        told = ", ".join(sorted(remains.failures))
        message = f"Failed to delete all resource types, {len(remains.failures)} remaining: {told}"
        troubles["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
    if remains.instances:
        counted = sorted(f"{r.plural}.{r.group} has {n} resource instances" for r, n in remains.instances.items())
        message = f"Some resources are remaining: {', '.join(counted)}"
        troubles["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
    if remains.finalizers:
        counted = sorted(f"{name} in {n} resource instances" for name, n in remains.finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(counted)}"
        troubles["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return troubles
