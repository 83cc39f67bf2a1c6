"""The status of a RayCluster: KubeRay's fields with KubeRay's meaning, and conditions for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.raycluster import HeadInfo, RayCluster, RayClusterStatus
from rayward.kinds.shapes import features, max_workers, min_workers
from rayward.kube.core.meta import condition_of, is_true, rfc3339
from rayward.kube.core.objects import Condition
from rayward.kube.core.service import Service
from rayward.operator.cluster import conditions
from rayward.operator.cluster.conditions import Conditions
from rayward.operator.cluster.drift import NO_DRIFT, Drift, is_replacing
from rayward.operator.cluster.gate import OPEN, Gate
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.pod_problems import IMAGE, PodProblem, pod_problems
from rayward.operator.cluster.state import Failure, Observed, State
from rayward.operator.cluster.version import DASHBOARD, is_asked, mismatch_of

READY: Final = "ready"
SUSPENDED: Final = "suspended"
STARTING: Final = "PodsStarting"
"""Why a cluster is not Ready whose pods are all there, or on their way, and without a problem."""

_INT32_MAX: Final = 2**31 - 1

# What changes again and again while pods start: it may wait a moment for more of its kind.
_PROGRESS: Final = ("available_worker_replicas", "ready_worker_replicas", "head")
_OF_HEAD: Final = (conditions.HEAD_READY, conditions.HEAD_RUNNING_AND_READY, conditions.AUTOSCALER_HEALTHY)
_KEPT: Final = (
    "Running pods keep it: delete them, set spec.upgradeStrategy.type to Recreate, or annotate the RayCluster with "
    f"{labels.ROLLING_UPDATE}=workers before the next edit"
)


def status_of(
    state: State, now: datetime, *, drift: Drift = NO_DRIFT, failure: Failure | None = None
) -> RayClusterStatus:
    """The status of a cluster whose spec is valid."""
    cluster, observed = state.cluster, state.observed
    before = cluster.status
    live = [pod for pod in observed.pods if not pod.deleting]
    head = head_of(observed.pods)
    desired = state.desired.workers
    complete = failure is None and len(live) == desired + 1 and all(pod.up for pod in live)
    suspend = cluster.spec.suspend is True
    phase = _state(before.state, suspend, complete, bool(observed.pods))
    updated = Conditions(before.conditions, cluster.metadata.generation, now)
    updated.set(conditions.ACCEPTED, True, "SpecAccepted", "The spec is valid")
    _set_quota(updated, state.gate)
    if failure is not None:
        updated.set(conditions.REPLICA_FAILURE, True, failure.reason, failure.message)
    else:
        updated.drop(conditions.REPLICA_FAILURE)
    conditions.set_head_ready(updated, head)
    conditions.set_autoscaler_healthy(updated, head, autoscaled=features.autoscaling(cluster) and not suspend)
    _set_provisioned(updated, before.conditions, suspend, complete, bool(observed.pods))
    _set_suspension(updated, suspend, bool(observed.pods))
    _set_ready(updated, live, desired, observed, suspend, failure)
    if state.gate.waits and not suspend:
        why = state.gate.condition
        updated.set(conditions.READY, False, "WaitingForQuota", why.message if why else "")
    updated.set_once_true(conditions.DRIFTED, bool(drift.pods), ("TemplateChanged", "InAgreement"), drift.message)
    _set_version_mismatch(updated, cluster, live, observed.ray_version)
    replacing = is_replacing(cluster, state.desired, observed.pods)
    stalled = "" if not drift.pods or replacing or failure is not None else f"{drift.message}. {_KEPT}"
    settled = not observed.pods if suspend else complete and not (drift.pods or replacing)
    _set_progress(updated, before, settled=settled, stalled=("TemplateChanged", stalled))
    service = head_service_of(cluster, observed.services)
    resources = state.desired.totals
    workers = [pod for pod in live if pod.is_worker]
    return msgspec.structs.replace(
        before,
        state=phase,
        reason="",
        desired_worker_replicas=min(desired, _INT32_MAX),
        available_worker_replicas=sum(pod.running for pod in workers),
        ready_worker_replicas=sum(pod.ready for pod in workers),
        min_worker_replicas=min(sum(map(min_workers, cluster.groups)), _INT32_MAX),
        max_worker_replicas=min(sum(map(max_workers, cluster.groups)), _INT32_MAX),
        desired_cpu=resources.cpu,
        desired_memory=resources.memory,
        desired_gpu=resources.gpu,
        desired_tpu=resources.tpu,
        state_transition_times=_transition_times(before, phase, now),
        endpoints=endpoints_of(service) if service else before.endpoints,
        head=_head_info(head, service),
        conditions=updated.value,
        # It stays behind until the cluster is what the generation asks for, or will not be without another edit.
        observed_generation=cluster.metadata.generation if settled or stalled else before.observed_generation,
    )


def _set_version_mismatch(updated: Conditions, cluster: RayCluster, live: Sequence[RayPod], running: str) -> None:
    reason, message = mismatch_of(cluster, live, running)
    before = condition_of(cluster.status.conditions, conditions.VERSION_MISMATCH)
    if not (message or running) and before is not None and before.reason == DASHBOARD and live and is_asked(cluster):
        # An operator that has just started has not asked yet, and knows nothing better than what was reported.
        return
    updated.set_once_true(conditions.VERSION_MISMATCH, bool(message), (reason, "InAgreement"), message)


def rejected_status(
    cluster: RayCluster, observed: Observed, now: datetime, reason: str, message: str, gate: Gate = OPEN
) -> RayClusterStatus:
    """The status of a cluster whose spec is rejected: it shows what runs, and is stalled at this generation."""
    before = cluster.status
    updated = Conditions(before.conditions, cluster.metadata.generation, now)
    updated.set(conditions.ACCEPTED, False, reason, message)
    _set_quota(updated, gate)
    live = [pod for pod in observed.pods if not pod.deleting]
    conditions.set_head_ready(updated, head_of(observed.pods))
    suspend = cluster.spec.suspend is True
    state = before.state
    if suspend:
        # Suspending is the one thing that a rejected spec can ask for.
        state = _state(before.state, suspend, False, bool(observed.pods))
        _set_provisioned(updated, before.conditions, suspend, False, bool(observed.pods))
        _set_suspension(updated, suspend, bool(observed.pods))
    # How many pods there should be, the last accepted spec said.
    last_desired = before.desired_worker_replicas
    if not suspend and not (live and before.head is not None):
        updated.set(conditions.READY, False, reason, message)
    elif not suspend and len(live) <= last_desired:
        missing = f"{len(live)} of {last_desired + 1} pods exist; no pods are created while the spec is invalid"
        updated.set(conditions.READY, False, reason, f"{missing}: {message}")
    else:
        _set_ready(updated, live, last_desired, observed, suspend, None)
    _set_progress(updated, before, settled=False, stalled=(reason, message))
    workers = [pod for pod in live if pod.is_worker]
    return msgspec.structs.replace(
        before,
        state=state,
        available_worker_replicas=sum(pod.running for pod in workers),
        ready_worker_replicas=sum(pod.ready for pod in workers),
        state_transition_times=_transition_times(before, state, now),
        conditions=updated.value,
        observed_generation=cluster.metadata.generation,
    )


def changed(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether there is anything to write; the time of writing alone does not count."""
    return before != msgspec.structs.replace(after, last_update_time=before.last_update_time)


def urgent(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether the change is more than progress on the way to readiness."""
    as_before = {name: getattr(before, name) for name in (*_PROGRESS, "last_update_time", "conditions")}
    if msgspec.structs.replace(after, **as_before) != before:
        return True
    return _statuses(before.conditions) != _statuses(after.conditions)


def head_of(pods: Sequence[RayPod]) -> RayPod | None:
    """The head: one that is not being deleted, else a terminating one."""
    heads = [pod for pod in pods if pod.is_head]
    return next((pod for pod in heads if not pod.deleting), heads[0] if heads else None)


def head_service_of(cluster: RayCluster, services: Sequence[Service]) -> Service | None:
    """The cluster's head service."""
    name = features.head_service_name(cluster)
    return next((service for service in services if service.metadata.name == name), None)


def endpoints_of(service: Service) -> dict[str, str]:
    """Where the named ports of the head service are reached."""
    found: dict[str, str] = {}
    for port in service.spec.ports or ():
        where = port.node_port or port.target_port
        if port.name and where:
            found[port.name] = str(where)
    return found


def _state(before: str, suspend: bool, complete: bool, pods: bool) -> str:
    if suspend:
        return before if pods else SUSPENDED
    if complete:
        return READY
    # KubeRay's tools take `ready` for "was ready": it stays until the cluster is suspended.
    return "" if before == SUSPENDED else before


def _set_provisioned(
    updated: Conditions, before: Sequence[Condition] | None, suspend: bool, complete: bool, pods: bool
) -> None:
    if suspend:
        if not pods:
            updated.set(conditions.PROVISIONED, False, "RayClusterPodsProvisioning", "RayCluster has been suspended")
        return
    if is_true(before, conditions.PROVISIONED):
        return
    if complete:
        reason, message = "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time"
    else:
        reason, message = "RayClusterPodsProvisioning", "RayCluster Pods are being provisioned for first time"
    updated.set(conditions.PROVISIONED, complete, reason, message)


def _set_suspension(updated: Conditions, suspend: bool, pods: bool) -> None:
    updated.set(conditions.SUSPENDED, suspend and not pods, conditions.SUSPENDED)
    updated.set(conditions.SUSPENDING, suspend and pods, conditions.SUSPENDING)


def _set_quota(updated: Conditions, gate: Gate) -> None:
    """The grant that this reconcile acts by: the gate gives quota back only after it reads its answer here."""
    found = gate.condition
    if found is None:
        updated.drop(QUOTA_RESERVED)
    else:
        updated.set(QUOTA_RESERVED, found.status, found.reason, found.message)


def _set_ready(
    updated: Conditions,
    live: Sequence[RayPod],
    desired: int,
    observed: Observed,
    suspend: bool,
    failure: Failure | None,
) -> None:
    ready = sum(pod.up for pod in live)
    problems = pod_problems(live, observed.logs, observed.warnings)
    if suspend:
        updated.set(conditions.READY, False, "Suspended", "spec.suspend is true")
    elif failure is not None:
        updated.set(conditions.READY, False, failure.reason, failure.message)
    elif problems:
        first, more = problems[0], _more_failing(len(problems) - 1)
        message = _steady(updated.value, first)
        updated.set(conditions.READY, False, first.reason, f"{message}{more}")
    elif ready == len(live) == desired + 1:
        updated.set(conditions.READY, True, "AllPodsReady", "The head and all workers are ready")
    elif len(live) > desired + 1:
        message = f"Scaling down: {len(live)} pods running, {desired + 1} desired"
        updated.set(conditions.READY, False, "ScalingDown", message)
    else:
        updated.set(conditions.READY, False, STARTING, f"{ready} of {desired + 1} pods are ready")


def _set_progress(updated: Conditions, before: RayClusterStatus, *, settled: bool, stalled: tuple[str, str]) -> None:
    """Conditions as kstatus reads them. Ready speaks of this generation only once the cluster is what it asks for."""
    reason, message = stalled
    ready = condition_of(updated.value, conditions.READY)
    assert ready is not None
    if settled or message:
        updated.set(conditions.RECONCILING, False, "Settled" if settled else "Stalled")
    else:
        why = "PodsOutdated" if ready.status == "True" else ready.reason
        updated.set(conditions.RECONCILING, True, why, "The cluster is not yet what the spec asks for")
    updated.set_once_true(conditions.STALLED, bool(message), (reason, "NotStalled"), message)
    if not settled and ready.status == "True":
        updated.keep_generation(conditions.READY, before.conditions)


def _more_failing(count: int) -> str:
    if not count:
        return ""
    return f" (and {count} more {'pods are' if count > 1 else 'pod is'} failing)"


def _steady(before: Sequence[Condition], problem: PodProblem) -> str:
    """The message, or the one that is there already where kubelets alternate between two about one image."""
    if problem.reason == IMAGE and "Back-off" in problem.message:
        for found in before:
            if found.type == conditions.READY and found.reason == IMAGE:
                text = found.message.partition(" (and ")[0]
                if text.startswith(f"pod {problem.pod}:"):
                    return text
    return problem.text


def _head_info(head: RayPod | None, service: Service | None) -> HeadInfo:
    pod_ip = head.status.pod_ip if head else ""
    service_ip = service.spec.cluster_ip if service else ""
    return HeadInfo(
        pod_ip=pod_ip,
        service_ip=pod_ip if service_ip == "None" else service_ip,
        pod_name=head.metadata.name if head else "",
        service_name=service.metadata.name if service else "",
    )


def _transition_times(before: RayClusterStatus, state: str, now: datetime) -> dict[str, str] | None:
    if state == before.state or not state:
        return before.state_transition_times
    return {**(before.state_transition_times or {}), state: rfc3339(now)}


def _statuses(found: Sequence[Condition] | None) -> set[tuple[str, str]]:
    return {(condition.type, condition.status) for condition in found or () if condition.type not in _OF_HEAD}
