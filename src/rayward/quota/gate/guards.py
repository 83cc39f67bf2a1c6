"""What nobody but the gate may do to a Ray object: the rules behind the admission policy and behind the webhook.

A rule is there twice, as CEL for the API server and as a function for the webhook, side by side; one table of cases
goes through both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object, section

Values = Mapping[str, str]
"""What the rules read of an object, by the names in ``READ``; empty where it is not there."""

READ: Final = {
    "grant": ("annotations", labels.ADMITTED),
    "mark": ("annotations", labels.SUSPENDED_BY),
    "queue": ("labels", labels.QUEUE_NAME),
    "kueues": ("labels", names.QUEUE_NAME),
}
"""Where each value is, in an object's metadata."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule for updates by anybody but the gate."""

    reads: tuple[str, ...]
    expression: str
    """In CEL, with ``{queueBefore}`` and the like for what it reads."""
    holds: Callable[[Values, Values], bool]
    message: str


def values_of(found: Object) -> Values:
    """What the rules read of an object."""
    metadata = section(found, "metadata")
    return {name: str(section(metadata, part).get(key) or "") for name, (part, key) in READ.items()}


def broken(guards: tuple[Guard, ...], before: Object, after: Object) -> str:
    """The message of the first rule that an update breaks; empty if it breaks none."""
    was, becomes = values_of(before), values_of(after)
    return next((guard.message for guard in guards if not guard.holds(was, becomes)), "")


def _written_by_gate(name: str, advice: str = "") -> Guard:
    """An annotation that others may remove, and not write."""
    return Guard(
        (name,),
        f"{{{name}After}} == '' || {{{name}Before}} == {{{name}After}}",
        lambda before, after: after[name] in ("", before[name]),
        f"annotation {READ[name][1]} is written by the quota gate only{advice}",
    )


def _stays_in_a_queue(resource: Resource) -> Guard:
    """Whoever took the label away would have the next release, or the next attempt, run without quota."""
    kind = resource.kind
    return Guard(
        ("queue", "kueues"),
        "({queueBefore} == '' && {kueuesBefore} == '') || {queueAfter} != '' || {kueuesAfter} != ''",
        lambda before, after: not (before["queue"] or before["kueues"]) or bool(after["queue"] or after["kueues"]),
        f"the label that names the queue of a {kind} cannot be removed: name another queue, or create the {kind} anew",
    )


_KEEPS_ITS_QUEUE: Final = Guard(
    ("queue",),
    "{queueBefore} == '' || {queueBefore} == {queueAfter}",
    lambda before, after: before["queue"] in ("", after["queue"]),
    f"label {labels.QUEUE_NAME} of a RayCluster cannot be changed: create another RayCluster",
)

GUARDS: Final[Mapping[Resource, tuple[Guard, ...]]] = {
    RAY_CLUSTERS: (
        _written_by_gate("grant", "; leave it out of what you apply"),
        _KEEPS_ITS_QUEUE,
        _stays_in_a_queue(RAY_CLUSTERS),
    ),
    RAY_JOBS: (_written_by_gate("mark"), _stays_in_a_queue(RAY_JOBS)),
    RAY_SERVICES: (_stays_in_a_queue(RAY_SERVICES),),
}
"""By kind, in the order in which they are told."""
