"""What a RayCluster's status says: KubeRay's fields with KubeRay's meaning, and conditions that tell the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from rayward.kinds.raycluster import HeadInfo, RayCluster, RayClusterStatus
from rayward.kinds.shapes import (
    desired_workers,
    features,
    max_workers,
    min_workers,
    resources_of,
)
from rayward.kube.core.meta import is_true, rfc3339
from rayward.kube.core.objects import Condition
from rayward.kube.core.service import Service
from rayward.operator.cluster import ailments, conditions
from rayward.operator.cluster.conditions import Conditions
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.pod import RayPod

READY: Final = "ready"
SUSPENDED: Final = "suspended"

_INT32_MAX: Final = 2**31 - 1

# What changes again and again while pods start: it may wait a moment for more of its kind.
_PROGRESS: Final = ("available_worker_replicas", "ready_worker_replicas", "head")


class Failure(msgspec.Struct, frozen=True):
    """What could not be written."""

    reason: str
    message: str


class Drift(msgspec.Struct, frozen=True):
    """Pods that were made from another template, and where it differs."""

    pods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """As the condition says it."""
        if not self.pods:
            return "every pod was made from the template that the spec has"
        return f"{', '.join(self.pods)} were made before the spec was changed in {', '.join(self.paths)}"


NO_DRIFT: Final = Drift()


def status_of(
    cluster: RayCluster, observed: Observed, now: datetime, *, drift: Drift = NO_DRIFT, failure: Failure | None = None
) -> RayClusterStatus:
    """The status of a cluster whose spec is acted upon."""
    before = cluster.status
    live = [pod for pod in observed.pods if not pod.deleting]
    head = head_of(observed.pods)
    desired = sum(map(desired_workers, cluster.groups))
    complete = failure is None and len(live) == desired + 1 and all(pod.up for pod in live)
    suspend = cluster.spec.suspend is True
    state = _state(before.state, suspend, complete, bool(observed.pods))
    told = Conditions(before.conditions, cluster.metadata.generation, now)
    told.set(conditions.ACCEPTED, True, "SpecAccepted", "the spec can be acted upon")
    if failure is not None:
        told.set(conditions.REPLICA_FAILURE, True, failure.reason, failure.message)
    else:
        told.drop(conditions.REPLICA_FAILURE)
    conditions.set_head_ready(told, head)
    _set_provisioned(told, before.conditions, suspend, complete, bool(observed.pods))
    _set_suspension(told, suspend, bool(observed.pods))
    _set_ready(told, live, desired, observed, suspend, failure)
    told.set_if_worth_telling(conditions.DRIFTED, bool(drift.pods), ("TemplateChanged", "InAgreement"), drift.message)
    other = ailments.other_version(live, cluster.spec.ray_version)
    told.set_if_worth_telling(conditions.VERSION_MISMATCH, bool(other), ("ImageTag", "InAgreement"), other)
    service = head_service_of(cluster, observed.services)
    resources = resources_of(cluster)
    workers = [pod for pod in live if pod.is_worker]
    return msgspec.structs.replace(
        before,
        state=state,
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
        state_transition_times=_transition_times(before, state, now),
        endpoints=endpoints_of(service) if service else before.endpoints,
        head=_head_info(head, service),
        conditions=told.value,
        observed_generation=cluster.metadata.generation,
    )


def refused_status(
    cluster: RayCluster, observed: Observed, now: datetime, reason: str, message: str
) -> RayClusterStatus:
    """The status of a cluster whose spec is refused: what runs is told, the generation does not count as seen."""
    before = cluster.status
    told = Conditions(before.conditions, cluster.metadata.generation, now)
    told.set(conditions.ACCEPTED, False, reason, message)
    live = [pod for pod in observed.pods if not pod.deleting]
    conditions.set_head_ready(told, head_of(observed.pods))
    suspend = cluster.spec.suspend is True
    state = before.state
    if suspend:
        # To stop is the one thing that a refused spec can ask for.
        state = _state(before.state, suspend, False, bool(observed.pods))
        _set_provisioned(told, before.conditions, suspend, False, bool(observed.pods))
        _set_suspension(told, suspend, bool(observed.pods))
    # The spec cannot say how many pods there should be: the last one that was accepted did.
    last_desired = before.desired_worker_replicas
    if not suspend and not (live and before.observed_generation):
        told.set(conditions.READY, False, reason, message)
    elif not suspend and len(live) <= last_desired:
        missing = f"{len(live)} of {last_desired + 1} pods are there, and none is made while the spec is refused"
        told.set(conditions.READY, False, reason, f"{missing}: {message}")
    else:
        _set_ready(told, live, last_desired, observed, suspend, None)
    workers = [pod for pod in live if pod.is_worker]
    return msgspec.structs.replace(
        before,
        state=state,
        available_worker_replicas=sum(pod.running for pod in workers),
        ready_worker_replicas=sum(pod.ready for pod in workers),
        state_transition_times=_transition_times(before, state, now),
        conditions=told.value,
    )


def changed(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether there is anything to write; the time of writing alone is nothing."""
    return before != msgspec.structs.replace(after, last_update_time=before.last_update_time)


def urgent(before: RayClusterStatus, after: RayClusterStatus) -> bool:
    """Whether the change is more than progress on the way to readiness."""
    as_before = {name: getattr(before, name) for name in (*_PROGRESS, "last_update_time", "conditions")}
    if msgspec.structs.replace(after, **as_before) != before:
        return True
    return _standing(before.conditions) != _standing(after.conditions)


def head_of(pods: Sequence[RayPod]) -> RayPod | None:
    """The head: the one that lives, else one that ends."""
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


def body(status: RayClusterStatus) -> dict[str, Any]:
    """A status as JSON values. Conditions are whole: the schema requires fields that are empty."""
    whole: dict[str, Any] = msgspec.to_builtins(status)
    if status.conditions:
        whole["conditions"] = [_whole_condition(found) for found in status.conditions]
    return whole


def patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch from one status to the other."""
    change: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = patch(old, value)  # pyright: ignore[reportUnknownArgumentType]
            if inner:
                change[name] = inner
        elif old != value:
            change[name] = value
    return change


def _state(before: str, suspend: bool, complete: bool, pods: bool) -> str:
    if suspend:
        return before if pods else SUSPENDED
    if complete:
        return READY
    # KubeRay's tools take `ready` for "was ready": it stays until the cluster is suspended.
    return "" if before == SUSPENDED else before


def _set_provisioned(
    told: Conditions, before: Sequence[Condition] | None, suspend: bool, complete: bool, pods: bool
) -> None:
    if suspend:
        if not pods:
            told.set(conditions.PROVISIONED, False, "RayClusterPodsProvisioning", "RayCluster has been suspended")
        return
    if is_true(before, conditions.PROVISIONED):
        return
    if complete:
        reason, message = "AllPodRunningAndReadyFirstTime", "All Ray Pods are ready for the first time"
    else:
        reason, message = "RayClusterPodsProvisioning", "RayCluster Pods are being provisioned for first time"
    told.set(conditions.PROVISIONED, complete, reason, message)


def _set_suspension(told: Conditions, suspend: bool, pods: bool) -> None:
    told.set(conditions.SUSPENDED, suspend and not pods, conditions.SUSPENDED)
    told.set(conditions.SUSPENDING, suspend and pods, conditions.SUSPENDING)


def _set_ready(
    told: Conditions,
    live: Sequence[RayPod],
    desired: int,
    observed: Observed,
    suspend: bool,
    failure: Failure | None,
) -> None:
    ready = sum(pod.up for pod in live)
    found = ailments.ailments(live, observed.logs)
    if suspend:
        told.set(conditions.READY, False, "Suspended", "spec.suspend is true")
    elif failure is not None:
        told.set(conditions.READY, False, failure.reason, failure.message)
    elif found:
        first = found[0]
        more = f" (and {len(found) - 1} more pods ail)" if len(found) > 1 else ""
        message = _steady(told.value, first)
        told.set(conditions.READY, False, first.reason, f"{message}{more}")
    elif ready == len(live) == desired + 1:
        told.set(conditions.READY, True, "AllPodsReady", "the head and every worker are ready")
    elif len(live) > desired + 1:
        message = f"{len(live)} pods run and {desired + 1} are asked for: some are still to go"
        told.set(conditions.READY, False, "ScalingDown", message)
    else:
        told.set(conditions.READY, False, "PodsStarting", f"{ready} of {desired + 1} pods are ready")


def _steady(before: Sequence[Condition], ailment: ailments.Ailment) -> str:
    """The message, or the one that stands already where kubelets alternate between two about one image."""
    if ailment.reason == ailments.IMAGE and "Back-off" in ailment.message:
        for found in before:
            if found.type == conditions.READY and found.reason == ailments.IMAGE:
                text = found.message.partition(" (and ")[0]
                if text.startswith(f"pod {ailment.pod}:"):
                    return text
    return ailment.text


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


def _standing(found: Sequence[Condition] | None) -> set[tuple[str, str]]:
    return {(condition.type, condition.status) for condition in found or () if condition.type != conditions.HEAD_READY}


def _whole_condition(condition: Condition) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.last_transition_time,
    }
    if condition.observed_generation is not None:
        whole["observedGeneration"] = condition.observed_generation
    return whole
