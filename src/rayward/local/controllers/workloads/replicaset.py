"""Replica sets: how many pods to make, which to delete, and what to report. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import datetime
from typing import Final

import msgspec

from rayward.kube.core.meta import controller_reference, rfc3339
from rayward.kube.core.objects import KubeObject, Slim
from rayward.kube.core.resource import REPLICA_SETS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.controllers.podorder import least_first
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.workloads.common import available_in

LARGEST: Final = 500
"""How many pods are made or deleted in one go."""
FAILURE: Final = "ReplicaFailure"


class SetCondition(Slim, frozen=True, gc=False):
    """A condition of a replica set."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class ReplicaSetSpec(Slim, frozen=True, gc=False):
    """What is asked for."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: Object = msgspec.field(default_factory=dict)
    template: Object = msgspec.field(default_factory=dict)


class ReplicaSetStatus(Slim, frozen=True, gc=False):
    """How many pods there are."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[SetCondition, ...] | None = None


class SeenReplicaSet(KubeObject, frozen=True, gc=False):
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class Decision(msgspec.Struct, frozen=True):
    """Pods to make and to delete, and the status of those that were there before."""

    status: ReplicaSetStatus
    create: int = 0
    delete: tuple[SeenPod, ...] = ()
    again_after: float | None = None


def decide(owner: SeenReplicaSet, pods: Sequence[SeenPod], now: datetime) -> Decision:
    """What to do about a replica set, given the pods that are its own."""
    spec = owner.spec
    active = [pod for pod in pods if not pod.over and not pod.deleting]
    create, delete = 0, ()
    if not owner.deleting:
        missing = spec.replicas - len(active)
        create = min(max(0, missing), LARGEST)
        delete = tuple(least_first(active, ranked=True)[: min(max(0, -missing), LARGEST)])
    waits = [available_in(pod, spec.min_ready_seconds, now) for pod in active]
    wanted = section(section(spec.template, "metadata"), "labels").items()
    status = ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(wanted <= (pod.metadata.labels or {}).items() for pod in active),
        ready_replicas=sum(pod.ready for pod in active),
        available_replicas=sum(wait == 0 for wait in waits),
        terminating_replicas=sum(pod.deleting and not pod.over for pod in pods),
        observed_generation=owner.metadata.generation,
        conditions=owner.status.conditions,
    )
    return Decision(status, create, delete, min((wait for wait in waits if wait), default=None))


def with_failure(status: ReplicaSetStatus, problem: tuple[str, str] | None, now: datetime) -> ReplicaSetStatus:
    """The status with the reason and message of what went wrong, or without any."""
    others = tuple(found for found in status.conditions or () if found.type != FAILURE)
    before = next((found for found in status.conditions or () if found.type == FAILURE), None)
    if problem is None:
        return msgspec.structs.replace(status, conditions=others or None)
    if before is not None:
        return status
    condition = SetCondition(FAILURE, "True", rfc3339(now), *problem)
    return msgspec.structs.replace(status, conditions=(*others, condition))


def pod_of(owner: SeenReplicaSet) -> Object:
    """A new pod of a replica set."""
    template = deepcopy(owner.spec.template)
    about = section(template, "metadata")
    metadata: Object = {
        "generateName": f"{owner.metadata.name}-",
        "namespace": owner.metadata.namespace,
        "labels": section(about, "labels"),
        "annotations": section(about, "annotations"),
        "finalizers": entries(about, "finalizers"),
        "ownerReferences": [msgspec.to_builtins(controller_reference(owner, REPLICA_SETS))],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
