"""From two states of an object to what happened between them: pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayward.changes.revisions import CAUSE, CHANGED, DIFF, MANAGER, OUTCOME, OWNER, USER
from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.warned import Warned
from rayward.kinds import labels
from rayward.kinds.resources import GROUP
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Condition, KubeObject

_OF_QUOTA = frozenset({"QuotaReserved", "Admitted", "Evicted", "Preempted", "Finished"})
_QUIET = frozenset({"Reconciling", "RollbackInProgress", "HeadPodRunningAndReady"})
"""Conditions that say what another one says."""


def of_object(kind: str, old: Any, new: Any, now: str) -> Iterator[Entry]:
    """Of a RayService, RayCluster or RayJob, as the operator's caches have them."""
    found: KubeObject = new or old
    metadata = found.metadata
    owner = controller_of(found)
    about = f"{owner.kind}/{owner.name}" if owner is not None else ""

    def entry(what: Any, text: str, at: str | None = None, detail: str = "") -> Entry:
        return Entry(at or now, metadata.namespace, kind, metadata.name, what, text, owner=about, detail=detail)

    if old is None:
        yield entry("created", f"{kind} was created", metadata.creation_timestamp)
    if new is None:
        yield entry("deleted", f"{kind} was deleted")
        return
    if old is not None and old.deleting != new.deleting:
        yield entry("deleted", f"deletion of {kind} was requested", metadata.deletion_timestamp)
    before = _by_type(old)
    for one in _by_type(new).values():
        was = before.get(one.type)
        if one.type in _QUIET or (was is not None and (was.status, was.reason) == (one.status, one.reason)):
            continue
        text = f"{one.type} is {one.status}: {one.reason}"
        yield entry("condition", text, one.last_transition_time if was is None else None, one.message)
    if kind == "RayService":
        serving, served = _active(new), _active(old)
        if serving != served and serving:
            yield entry("traffic", f"traffic goes to RayCluster {serving}" + (f", not {served}" if served else ""))
    if kind == "RayJob":
        phase, was_phase = (
            str(getattr(getattr(one, "status", None), "job_deployment_status", "")) for one in (new, old)
        )
        if phase != was_phase and phase:
            yield entry("condition", f"job is {phase}", None, str(getattr(new.status, "message", "") or ""))


def of_pod(old: Any, new: Any, now: str, owner: str) -> Iterator[Entry]:
    """Of a pod: when it runs, is ready, and goes; how its containers end is told by ``exits``."""
    metadata = (new or old).metadata
    cluster = owner or f"RayCluster/{metadata.label(labels.CLUSTER)}"

    def entry(what: Any, text: str, detail: str = "") -> Entry:
        return Entry(now, metadata.namespace, "Pod", metadata.name, what, text, owner=cluster, detail=detail)

    if new is None:
        yield entry("deleted", "pod was deleted")
        return
    if old is None:
        yield entry("created", f"pod of group {metadata.label(labels.GROUP)} was created")
    if new.ready and not (old is not None and old.ready):
        yield entry("pod", "pod is ready")
    elif old is not None and old.ready and not new.ready and not new.deleting:
        yield entry("pod", "pod is no longer ready")
    if new.status.phase == "Failed" and not (old is not None and old.status.phase == "Failed") and new.status.reason:
        # of a pod that its node gave up, no container may say more
        yield entry("pod", f"pod failed: {new.status.reason}", new.status.message)
    restarts = {one.name: one.restart_count for one in (old.status.container_statuses if old else None) or ()}
    for one in new.status.container_statuses or ():
        if one.restart_count > restarts.get(one.name, 0):
            yield entry("pod", f"container {one.name} was restarted (restart {one.restart_count})")


def of_service(old: Any, new: Any, now: str) -> Iterator[Entry]:
    """Of a Service that an object of Ray's owns: that it selects other pods."""
    owner = controller_of(new or old)
    if old is None or new is None or owner is None or not owner.api_version.startswith(f"{GROUP}/"):
        return
    selected: dict[str, str] = new.spec.selector or {}
    before: dict[str, str] = old.spec.selector or {}
    if selected == before:
        return
    to, away = selected.get(labels.CLUSTER, ""), before.get(labels.CLUSTER, "")
    text = f"Service selects pods of RayCluster {to}" + (f", not {away}" if away else "")
    if not to or to == away:
        text = f"Service selects {','.join(f'{name}={value}' for name, value in sorted(selected.items())) or 'no pods'}"
    metadata = new.metadata
    about = f"{owner.kind}/{owner.name}"
    yield Entry(now, metadata.namespace, "Service", metadata.name, "traffic", text, owner=about)


def of_workload(old: Any, new: Any, now: str, owner: str) -> Iterator[Entry]:
    """Of a demand for quota: that it is admitted, evicted or finished."""
    if new is None:
        return
    metadata = new.metadata
    before = _by_type(old)
    for one in _by_type(new).values():
        was = before.get(one.type)
        if one.type not in _OF_QUOTA or (was is not None and (was.status, was.reason) == (one.status, one.reason)):
            continue
        text = f"{one.type} is {one.status}: {one.reason}"
        at = one.last_transition_time if was is None else None
        yield Entry(at or now, metadata.namespace, "Workload", metadata.name, "condition", text, "", owner, one.message)


def of_event(old: Warned | None, new: Warned, now: str, owner: str) -> Iterator[Entry]:
    """Of an Event: its first time, and then each time that its number doubled."""
    if old is not None and new.times.bit_length() == old.times.bit_length():
        return
    about = new.involved_object
    by = new.source.component or new.reporting_component
    namespace = about.namespace or new.metadata.namespace
    text, detail = f"{new.reason}: {new.message}", f"{new.times} times" if new.times > 1 else ""
    yield Entry(new.at or now, namespace, about.kind, about.name, "event", text, by, owner, detail)


def of_revision(old: KubeObject | None, new: KubeObject | None, now: str) -> Iterator[Entry]:
    """Of a recorded generation: that it was asked for, by whom, and how it ended."""
    if new is None or not new.metadata.label(OWNER):
        return
    owner = next(iter(new.metadata.owner_references or ()), None)
    if owner is None:
        return
    metadata = new.metadata
    number = metadata.name.rpartition("-")[2]

    def entry(what: Any, text: str, at: str | None, by: str = "", detail: str = "") -> Entry:
        return Entry(at or now, metadata.namespace, owner.kind, owner.name, what, text, by, detail=detail)

    if old is None:
        by = metadata.annotation(USER) or metadata.annotation(MANAGER)
        cause, changed = metadata.annotation(CAUSE), metadata.annotation(CHANGED)
        text = (
            f"generation {number} was requested"
            + (f": {cause}" if cause else "")
            + (f" ({changed})" if changed else "")
        )
        yield entry("spec", text, metadata.creation_timestamp, by, metadata.annotation(DIFF))
    elif metadata.annotation(CAUSE) and not old.metadata.annotation(CAUSE):
        # the operator saw the generation before the SDK could say why
        yield entry("spec", f"generation {number}: {metadata.annotation(CAUSE)}", None, metadata.annotation(USER))
    outcome = metadata.annotation(OUTCOME)
    if outcome and not (old is not None and old.metadata.annotation(OUTCOME) == outcome):
        yield entry("outcome", f"generation {number} ended: {outcome}", None)


def _by_type(found: Any) -> dict[str, Condition]:
    conditions: Any = getattr(getattr(found, "status", None), "conditions", None)
    return {one.type: one for one in conditions or ()}


def _active(found: Any) -> str:
    active: Any = getattr(getattr(found, "status", None), "active_service_status", None)
    return active.ray_cluster_name if active is not None else ""
