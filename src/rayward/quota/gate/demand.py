"""What a RayCluster asks its queue for, and the Workload that asks.

A Workload has one pod set for each group, in the spec's order. Their names, order and shapes are its form: a slice
repeats the form of the slice that it replaces, because Kueue compares the two by position.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS, WORKLOADS
from rayward.kinds.shapes import PodSetShape, pod_set_shapes
from rayward.kinds.shapes.podsets import outlined
from rayward.kinds.shapes.submitter import SUBMITTER_GROUP
from rayward.kinds.validation import cluster_problems, listed
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.quantity import QuantityError

SUBMITTER: Final = "submitter"
"""The pod set of a RayJob's submitter; no worker group can have that name in a Workload of its own."""
MAX_POD_SETS: Final = 18
_HEAD: Final = "head"
_IS_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class SetRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which group a pod set is for, and the digest of its shape."""

    group: str = ""
    shape: str = ""


@dataclass(frozen=True, slots=True)
class PodSetDemand:
    name: str
    group: str
    shape: str
    count: int
    spec: Object


@dataclass(frozen=True, slots=True)
class Demand:
    """All pod sets of a RayCluster, with the counts that its spec asks for."""

    sets: tuple[PodSetDemand, ...]

    @property
    def form(self) -> Mapping[str, SetRecord]:
        """Names, order and shapes."""
        return {one.name: SetRecord(one.group, one.shape) for one in self.sets}

    @property
    def counts(self) -> Mapping[str, int]:
        """Pods by pod set."""
        return {one.name: one.count for one in self.sets}

    def with_counts(self, counts: Mapping[str, int]) -> Demand:
        """The same pod sets with other counts."""
        return Demand(tuple(_replaced(one, counts.get(one.name, 0)) for one in self.sets))

    @property
    def is_empty(self) -> bool:
        """Whether it asks for no pod at all."""
        return not any(one.count for one in self.sets)


def demand_of(cluster: RayCluster, submitter: Object | None = None) -> Demand:
    """What a RayCluster's spec asks for; ``submitter`` is the pod spec of its RayJob's submitter, if it has one."""
    shapes: list[PodSetShape] = list(pod_set_shapes(cluster))
    if submitter is not None:
        shapes.append(PodSetShape(SUBMITTER_GROUP, 1, outlined(submitter)))
    taken: set[str] = set()
    sets: list[PodSetDemand] = []
    for shape in shapes:
        name = _set_name(shape.group, taken)
        taken.add(name)
        sets.append(PodSetDemand(name, shape.group, shape.digest, shape.count, shape.spec))
    return Demand(tuple(sets))


def counted(cluster: RayCluster, submitter: Object | None = None) -> tuple[Demand | None, tuple[str, str] | None]:
    """What a cluster asks for, or reason and message of why nobody can tell."""
    problems = cluster_problems(cluster)
    if problems:
        return None, ("InvalidSpec", listed(problems))
    try:
        demand = demand_of(cluster, submitter)
    except QuantityError as error:
        return None, ("InvalidSpec", str(error))
    if len(demand.sets) > MAX_POD_SETS:
        message = (
            f"{len(demand.sets)} pod sets (the head, {len(cluster.groups)} worker groups"
            f"{', the submitter' if submitter is not None else ''}) are more than the {MAX_POD_SETS} that a Workload "
            "can have: merge worker groups of one shape"
        )
        return None, ("TooManyPodSets", message)
    return demand, None


def form_of(workload: Workload) -> Mapping[str, SetRecord]:
    """The form that a Workload was made with; empty where it does not say."""
    text = workload.metadata.annotation(labels.DEMAND)
    try:
        return msgspec.json.decode(text, type=dict[str, SetRecord]) if text else {}
    except msgspec.DecodeError:
        return {}


def is_form(workload: Workload, demand: Demand) -> bool:
    """Whether a Workload has the form of a demand, position by position."""
    found = form_of(workload)
    return list(found.items()) == list(demand.form.items()) and [one.name for one in workload.spec.pod_sets] == list(
        found
    )


def origin_of(workload: Workload) -> str:
    """The name of the first slice of its chain: pods are marked with it."""
    return workload.metadata.annotation(names.SLICE_NAME) or workload.metadata.name


def pod_sets(demand: Demand) -> list[Object]:
    """The pod sets as a Workload has them."""
    return [{"name": one.name, "count": one.count, "template": {"spec": one.spec}} for one in demand.sets]


@dataclass(frozen=True, slots=True)
class Terms:
    """How a Workload asks: where, how urgently and as what."""

    queue: str
    role: str = "base"
    priority: int = 0
    priority_class: str = ""


def workload_body(cluster: RayCluster, demand: Demand, terms: Terms, replaces: Workload | None, after: str) -> Object:
    """A new Workload.

    Its name follows from what it asks for and from what it comes ``after``, so that a creation whose answer was lost is
    found again. The owner does not control it, and the finalizer is ours: Kueue finishes a Workload whose controlling
    Ray owner is being deleted, though pods still run.
    """
    meta = cluster.metadata
    seed = _encoder.encode([meta.uid, demand.form, demand.counts, replaces.metadata.uid if replaces else after])
    name = f"raycluster-{meta.name}"[:50].rstrip("-.") + f"-{hashlib.sha256(seed).hexdigest()[:8]}"
    annotations = {
        labels.DEMAND: _encode_form(demand),
        names.ELASTIC_JOB: "true",
        names.SLICE_NAME: origin_of(replaces) if replaces else name,
    }
    if replaces is not None:
        annotations[names.SLICE_REPLACEMENT_FOR] = str(replaces.key)
    spec: Object = {"queueName": terms.queue, "priority": terms.priority, "podSets": pod_sets(demand)}
    if terms.priority_class:
        ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": terms.priority_class}
        spec["priorityClassRef"] = ref
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": _workload_labels(cluster, terms.role),
            "annotations": annotations,
            "ownerReferences": [_owner(cluster)],
            "finalizers": [labels.WORKLOAD_FINALIZER],
        },
        "spec": spec,
    }


def adopted(cluster: RayCluster, workload: Workload, role: str) -> Object:
    """The merge patch that gives a Workload, which a manager cluster made, to a RayCluster."""
    return {
        "metadata": {
            "labels": _workload_labels(cluster, role),
            "ownerReferences": [_owner(cluster)],
            "finalizers": [*(workload.metadata.finalizers or ()), labels.WORKLOAD_FINALIZER],
        }
    }


def reshaped(demand: Demand) -> Object:
    """The merge patch that lets a waiting Workload ask for something else, in its place in the queue."""
    return {
        "metadata": {"annotations": {labels.DEMAND: _encode_form(demand)}},
        "spec": {"podSets": pod_sets(demand)},
    }


def recounted(workload: Workload, counts: Mapping[str, int]) -> Object:
    """The merge patch to other counts; everything else of the pod sets stays as it is."""
    sets: list[Object] = []
    for one in workload.spec.pod_sets:
        made: Object = msgspec.to_builtins(one)
        sets.append({**made, "name": one.name, "count": counts.get(one.name, one.count), "template": one.template})
    return {"spec": {"podSets": sets}}


def counts_of(workload: Workload) -> Mapping[str, int]:
    """Pods by pod set, as a Workload asks for them."""
    return {one.name: one.count for one in workload.spec.pod_sets}


def total(sets: Iterable[PodSetDemand]) -> int:
    return sum(one.count for one in sets)


def _owner(cluster: RayCluster) -> Object:
    return {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
        "controller": False,
    }


def _workload_labels(cluster: RayCluster, role: str) -> Object:
    meta = cluster.metadata
    made = {labels.CLUSTER: meta.name, labels.CLUSTER_UID: meta.uid, labels.ROLE: role}
    for name in (labels.ORIGIN_NAME, labels.ORIGIN_KIND, labels.MULTICLUSTER):
        if meta.label(name):
            made[name] = meta.label(name)
    return made


def _encode_form(demand: Demand) -> str:
    # in the pod sets' order, which counts
    return msgspec.json.encode(dict(demand.form)).decode()


def _set_name(group: str, taken: Sequence[str] | set[str]) -> str:
    if group == labels.HEAD_GROUP:
        return _HEAD
    if group == SUBMITTER_GROUP:
        return SUBMITTER
    name = group.lower()
    if _IS_NAME(name) and name not in (_HEAD, SUBMITTER) and name not in taken:
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:50].strip("-") or "group"
    return f"{plain}-{hashlib.sha256(group.encode()).hexdigest()[:6]}"


def _replaced(one: PodSetDemand, count: int) -> PodSetDemand:
    return PodSetDemand(one.name, one.group, one.shape, count, one.spec)
