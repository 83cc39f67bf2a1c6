"""The Workloads by which a RayService of a manager cluster asks for quota, and their twins on worker clusters.

A claim and its twins have one name. A twin is bound once the gate of its worker cluster has given it to a RayCluster:
from then on it carries that RayCluster's uid, and so does the claim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES, WORKLOADS
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.gate.demand import Demand, counts_of, origin_of, recounted, reshaped
from rayward.quota.multicluster.state import State

ORIGIN: Final = "rayward"
_encoder: Final = msgspec.json.Encoder(order="deterministic")


def release_of(claim: Workload) -> str:
    """The release that a claim is for."""
    return claim.metadata.label(labels.RELEASE)


def bound_to(workload: Workload) -> str:
    """The uid of the RayCluster that runs by a claim or a twin; empty before one does."""
    return workload.metadata.label(labels.CLUSTER_UID)


def holds(workload: Workload) -> bool:
    """Whether pods may run by it, as far as its own cluster is concerned."""
    return workload.reserved and workload.admitted and not workload.evicted and not workload.deleting


def covers(claim: Workload, counts: Mapping[str, int]) -> bool:
    """Whether a claim asks for at least so many pods of each pod set."""
    asked = counts_of(claim)
    return all(asked.get(name, 0) >= count for name, count in counts.items())


def claim_body(state: State, release: str, demand: Demand, replaces: Workload | None = None) -> Object:
    """A new claim; its name follows from what it asks for and what came before, so that it is never made twice."""
    assert state.service is not None
    meta = state.service.metadata
    last = state.claims[-1].metadata.uid if state.claims else ""
    seed = _encoder.encode([meta.uid, release, demand.form, demand.counts, last])
    name = f"rayservice-{meta.name}"[:50].rstrip("-.") + f"-{hashlib.sha256(seed).hexdigest()[:8]}"
    asks = reshaped(demand) if replaces is None else recounted(replaces, demand.counts)
    annotations = {
        labels.DEMAND: _form_text(demand),
        names.ELASTIC_JOB: "true",
        names.SLICE_NAME: origin_of(replaces) if replaces is not None else name,
    }
    found: dict[str, str] = {
        labels.ORIGIN_NAME: meta.name,
        labels.ORIGIN_KIND: RAY_SERVICES.kind,
        labels.RELEASE: release,
        labels.ROLE: "surge" if any(holds(one) for one in state.claims) else "base",
    }
    if replaces is not None:
        annotations[names.SLICE_REPLACEMENT_FOR] = str(replaces.key)
        found |= {labels.CLUSTER_UID: bound_to(replaces), labels.ROLE: replaces.metadata.label(labels.ROLE)}
    value, priority_class = state.priority
    spec: Object = {"queueName": state.queue, "priority": value, **asks["spec"]}
    if priority_class:
        ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": priority_class}
        spec["priorityClassRef"] = ref
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": found,
            "annotations": annotations,
            "ownerReferences": [_owner(state.service)],
            "finalizers": [labels.WORKLOAD_FINALIZER],
        },
        "spec": spec,
    }


def twin_body(claim: Workload) -> Object:
    """What a worker cluster is asked for: the same, without an owner until a RayCluster is there.

    The priority is a number only: the worker cluster may not have the class. The finalizer comes with the owner.
    """
    meta = claim.metadata
    annotations = {name: meta.annotation(name) for name in (labels.DEMAND, names.ELASTIC_JOB, names.SLICE_NAME)}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "labels": {
                labels.ORIGIN_NAME: meta.label(labels.ORIGIN_NAME),
                labels.ORIGIN_KIND: meta.label(labels.ORIGIN_KIND),
                labels.RELEASE: release_of(claim),
                labels.MULTICLUSTER: ORIGIN,
            },
            "annotations": annotations,
        },
        "spec": {
            "queueName": claim.spec.queue_name,
            "priority": claim.spec.priority or 0,
            **recounted(claim, counts_of(claim))["spec"],
        },
    }


def _form_text(demand: Demand) -> str:
    return reshaped(demand)["metadata"]["annotations"][labels.DEMAND]


def _owner(service: RayService) -> Object:
    meta = service.metadata
    return {
        "apiVersion": RAY_SERVICES.api_version,
        "kind": RAY_SERVICES.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": False,
    }
