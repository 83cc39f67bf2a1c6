"""The grant that follows from what is admitted, with the words that go into the condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rayward.kinds.admission import NEVER_FITS, QUOTA_RESERVED, Grant, GroupGrant, checksum_of
from rayward.kinds.kueue import ResourceFlavor, Workload, names
from rayward.kinds.shapes.submitter import SUBMITTER_GROUP
from rayward.quota.gate.demand import SetRecord, form_of, origin_of
from rayward.quota.gate.state import State

SUSPENDED = "Suspended"
FLAVOR_NOT_FOUND = "FlavorNotFound"
_LONGEST = 2048


def grant_of(
    state: State,
    holder: Workload | None,
    counts: Mapping[str, int],
    keep: Sequence[Workload],
    *,
    waiting: Workload | None,
) -> Grant:
    """What may run.

    Args:
        state: What was read.
        holder: The Workload that was admitted for the shapes of now.
        counts: How many pods of its pod sets are still needed.
        keep: Admitted Workloads of earlier shapes, whose pods stay as long as they run.
        waiting: The Workload that waits, if one does.
    """
    assert state.cluster is not None
    uid = state.cluster.metadata.uid
    groups = _groups(state, holder, counts)
    for workload in keep:
        origin = origin_of(workload)
        for pod in state.pods.get(uid, ()):
            if pod.workload == origin:
                before = groups.get(pod.group, GroupGrant())
                groups[pod.group] = msgspec.structs.replace(before, held=before.held + 1)
    reason, message = _reported(state, holder, groups, waiting)
    origin = origin_of(holder) if holder is not None else ""
    grant = Grant(uid=uid, workload=origin, groups=groups, reason=reason, message=message[:_LONGEST])
    before = state.grant.revision if state.grant is not None else 0
    number = before if is_same_permission(grant, state.grant) else before + 1
    return msgspec.structs.replace(grant, revision=max(number, 1), checksum=checksum_of(grant))


def is_same_permission(one: Grant, other: Grant | None) -> bool:
    """Whether two grants let the same run, whatever they say about it."""
    return other is not None and (one.workload, one.groups) == (other.workload, other.groups)


def evicted_because(workload: Workload) -> str:
    """The reason of its eviction."""
    found = workload.condition(names.EVICTED)
    return found.reason if found is not None and found.status == "True" else ""


def _groups(state: State, holder: Workload | None, counts: Mapping[str, int]) -> dict[str, GroupGrant]:
    if holder is None or holder.status.admission is None:
        return {}
    form = form_of(holder)
    found: dict[str, GroupGrant] = {}
    for assigned in holder.status.admission.pod_set_assignments:
        record = form.get(assigned.name)
        if record is None or record.group == SUBMITTER_GROUP:
            continue
        pods = min(counts.get(assigned.name, 0), assigned.count if assigned.count is not None else 0)
        chosen = sorted(set((assigned.flavors or {}).values()))
        if all(name in state.flavors for name in chosen):
            flavors = [state.flavors[name] for name in chosen]
            selector, tolerations = _selector(flavors), _tolerations(flavors)
        elif (before := _granted_before(state, holder, record)) is not None:
            selector, tolerations = before.node_selector, before.tolerations
        else:
            # where its pods belong is not known yet
            continue
        found[record.group] = GroupGrant(pods=pods, shape=record.shape, node_selector=selector, tolerations=tolerations)
    return found


def _granted_before(state: State, holder: Workload, record: SetRecord) -> GroupGrant | None:
    """What the group may run by the same admission already: a flavor that goes away moves no pod."""
    known = state.grant
    if known is None or known.workload != origin_of(holder) or known.of(record.group).shape != record.shape:
        return None
    return known.of(record.group)


def unknown_flavors(state: State, holder: Workload | None) -> list[str]:
    """Flavors that quota was reserved in and that are not there, or not seen yet."""
    admission = holder.status.admission if holder is not None else None
    assigned = admission.pod_set_assignments if admission is not None else ()
    return sorted({name for one in assigned for name in (one.flavors or {}).values()} - set(state.flavors))


def _selector(flavors: Sequence[ResourceFlavor]) -> dict[str, str] | None:
    chosen: dict[str, str] = {}
    for flavor in flavors:
        chosen |= flavor.spec.node_labels or {}
    return chosen or None


def _tolerations(flavors: Sequence[ResourceFlavor]) -> tuple[dict[str, Any], ...] | None:
    found: list[dict[str, Any]] = []
    for flavor in flavors:
        found += [one for each in flavor.spec.tolerations or () if (one := msgspec.to_builtins(each)) not in found]
    return tuple(found) or None


def _reported(
    state: State, holder: Workload | None, groups: Mapping[str, GroupGrant], waiting: Workload | None
) -> tuple[str, str]:
    if state.problem is not None:
        return state.problem
    if state.stopped:
        return SUSPENDED, state.stopped
    if holder is not None or any(group.held for group in groups.values()):
        return _admitted(state, holder, groups, waiting)
    return _unadmitted(state, waiting)


def _admitted(
    state: State, holder: Workload | None, groups: Mapping[str, GroupGrant], waiting: Workload | None
) -> tuple[str, str]:
    if unknown := unknown_flavors(state, holder):
        message = f"Quota is reserved in ResourceFlavor {', '.join(unknown)}, which does not exist"
        return FLAVOR_NOT_FOUND, f"{message}: where its pods belong is not known, and none is made"
    listed = ", ".join(f"{granted.pods + granted.held} of {group}" for group, granted in groups.items())
    where = ""
    if holder is not None and holder.status.admission is not None:
        where = f" (Workload {holder.metadata.name}, ClusterQueue {holder.status.admission.cluster_queue})"
    message = f"Quota is reserved for pods: {listed}{where}"
    if waiting is None or waiting is holder:
        return QUOTA_RESERVED, message
    why = state.standing.never_fits or state.standing.message
    return "ScaleUpWaiting", f"{message}. More pods wait for quota: {why or 'not decided yet'}"


def _unadmitted(state: State, waiting: Workload | None) -> tuple[str, str]:
    if waiting is None:
        return "Pending", "The Workload is being created"
    name = waiting.metadata.name
    if not waiting.spec.active:
        patch = f"kubectl -n {waiting.metadata.namespace} patch workload {name} --type=merge"
        again = patch + """ -p '{"spec":{"active":true}}'"""
        message = f"Workload {name} is deactivated (spec.active is false); to queue it again: {again}"
        return names.BY_DEACTIVATION, message
    because = waiting.condition(names.EVICTED)
    if because is not None and because.status == "True" and waiting.reserved:
        return because.reason, f"Workload {name} was evicted: {because.message}"
    if state.standing.never_fits:
        return NEVER_FITS, state.standing.never_fits
    if waiting.reserved:
        checks = [check.name for check in waiting.status.admission_checks or () if check.state != "Ready"]
        return "WaitingForChecks", f"Workload {name} waits for admission checks: {', '.join(checks) or 'none named'}"
    found = waiting.condition(names.QUOTA_RESERVED)
    reason = found.reason if found is not None and found.reason else "Pending"
    said = found.message if found is not None and state.standing.fits_now else ""
    parts = [each for each in (said, state.standing.message) if each]
    return reason, "; ".join(parts) or f"Workload {name} waits in LocalQueue {waiting.spec.queue_name}"
