"""Whether pods run, or were let run, without quota: the gate closes itself then, with an event and a metric.

A grant on a RayCluster may permit what reserved Workloads cover, and no more. What somebody else wrote is told by that,
or by its checksum; neither is a proof of who wrote it, which only the admission policy can give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rayward.kinds import labels
from rayward.kinds.admission import Grant, checksum_of
from rayward.kinds.kueue import Workload
from rayward.quota.gate.demand import form_of, origin_of
from rayward.quota.gate.state import PodUse, State

Covered = Mapping[str, Mapping[str, int]]
"""Pods that quota is reserved for, by group and shape."""


def violation(state: State, live: Sequence[Workload], pods: Sequence[PodUse]) -> str:
    """What is wrong, for an event; empty where nothing is. ``live`` are Workloads that are not finished."""
    known = state.grant
    if known is None:
        # without a Workload it was put in a queue a moment ago
        return f"{len(pods)} pods run without quota; they are stopped" if pods and live else ""
    return _forged(known, _covered(live)) or (_surplus(known, pods) if state.acknowledged else "")


def _forged(known: Grant, covered: Covered) -> str:
    beyond: set[str] = set()
    shapes: set[str] = set()
    for group, granted in known.groups.items():
        reserved = covered.get(group, {})
        if granted.pods + granted.held > sum(reserved.values()):
            beyond.add(group)
        elif granted.pods and granted.shape not in reserved:
            shapes.add(group)
    if beyond:
        listed = ", ".join(sorted(beyond))
        return (
            f"Annotation {labels.ADMITTED} let {listed} run more pods than quota is reserved for; "
            "the gate is closed for those"
        )
    if shapes:
        listed = ", ".join(sorted(shapes))
        return (
            f"Annotation {labels.ADMITTED} let {listed} run pods of a shape that no quota is reserved for; "
            "the gate is closed for those"
        )
    if known.checksum and known.checksum != checksum_of(known):
        return f"Annotation {labels.ADMITTED} was changed by another client; the gate restores it"
    return ""


def _surplus(known: Grant, pods: Sequence[PodUse]) -> str:
    """The operator has said that it acts by the grant: what goes beyond it was deleted before."""
    running = Counter(pod.group for pod in pods if not pod.terminating)
    beyond = {group: count for group, count in running.items() if count > known.of(group).pods + known.of(group).held}
    if not beyond:
        return ""
    listed = ", ".join(f"{count} of {group}" for group, count in sorted(beyond.items()))
    return f"More pods run than quota is reserved for: {listed}; the operator deletes them"


def _covered(live: Sequence[Workload]) -> Covered:
    """Slices of one chain take each other's place, and are not added up."""
    chains: dict[tuple[str, str, str], int] = {}
    for workload in live:
        if not workload.reserved:
            continue
        form = form_of(workload)
        for one in workload.spec.pod_sets:
            record = form.get(one.name)
            if record is not None:
                key = (record.group, record.shape, origin_of(workload))
                chains[key] = max(chains.get(key, 0), one.count)
    covered: dict[str, dict[str, int]] = {}
    for (group, shape, _), count in chains.items():
        shapes = covered.setdefault(group, {})
        shapes[shape] = shapes.get(shape, 0) + count
    return covered
