"""How many pods the quota gate lets a RayCluster have.

A RayCluster that waits in a queue has no pod before the gate has written a grant, none beyond it, and none when the
grant is taken back. Terminating pods count: what they use comes free when they are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rayward.kinds import labels
from rayward.kinds.admission import BY_KUEUE, QUOTA_RESERVED, Grant, GroupGrant, Queueing, read_grant, reported
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object
from rayward.operator.cluster.desired import Desired
from rayward.operator.cluster.pod import RayPod


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate before one cluster's pods."""

    gated: bool = False
    grant: Grant | None = None
    """None: nobody has decided yet, and what runs goes on until somebody does."""
    ignored: str = ""
    """Why the cluster is not gated though its labels ask for it."""
    pod_annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """What tells whoever admits that its pods are counted here."""

    @property
    def is_shut(self) -> bool:
        """Whether pods that run have to stop."""
        return self.gated and self.grant is not None and self.grant.is_closed

    @property
    def waits(self) -> bool:
        """Whether no pod may be made."""
        return self.gated and (self.grant is None or self.grant.is_closed)

    @property
    def condition(self) -> Condition | None:
        """What to report; None for a cluster that is in no queue."""
        if self.ignored:
            return Condition(type=QUOTA_RESERVED, status="Unknown", reason=BY_KUEUE, message=self.ignored)
        return reported(self.grant) if self.gated else None

    def most(self, group: str, replicas: int, hosts: int) -> int:
        """How many replicas of a group may stay, of those that are wanted."""
        if not self.gated or self.grant is None:
            return replicas
        granted = self.grant.of(group)
        return min(replicas, (granted.pods + granted.held) // hosts)

    def room(self, group: str, desired: Desired, pods: Iterable[RayPod]) -> int | None:
        """How many pods of a group may be made now; None for any number."""
        if not self.gated:
            return None
        if self.grant is None or self.grant.of(group).shape != desired.shapes.get(group):
            return 0
        mine = sum(_group(pod) == group and self._is_under(pod) for pod in pods)
        return max(self.grant.of(group).pods - mine, 0)

    def mark(self, group: str, pod: Object) -> Object:
        """A pod to be made, with the Workload that it is admitted by and the place that quota was reserved for."""
        if not self.gated or self.grant is None:
            return pod
        marked = _annotated(pod, {labels.WORKLOAD: self.grant.workload, **self.pod_annotations})
        return {**marked, "spec": {**pod["spec"], **_placed(pod["spec"], self.grant.of(group))}}

    def mark_job(self, job: Object) -> Object:
        """A Job to be made whose pods are counted with the cluster's."""
        spec: Object = job["spec"]
        return {**job, "spec": {**spec, "template": _annotated(spec["template"], self.pod_annotations)}}

    def _is_under(self, pod: RayPod) -> bool:
        """Pods without a mark were made before there was a gate; they count as if admitted."""
        marked = pod.metadata.annotation(labels.WORKLOAD)
        return self.grant is None or not marked or marked == self.grant.workload


OPEN: Final = Gate()


def gate_of(cluster: RayCluster, queueing: Queueing) -> Gate:
    """The gate of a cluster, as its labels and its grant say."""
    if queueing.queue_of(cluster.metadata):
        return Gate(gated=True, grant=read_grant(cluster), pod_annotations=queueing.pod_annotations)
    return Gate(ignored=queueing.left_to_kueue(cluster.metadata))


def _annotated(made: Object, annotations: Mapping[str, str]) -> Object:
    metadata: Object = made["metadata"]
    return {**made, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def _group(pod: RayPod) -> str:
    return labels.HEAD_GROUP if pod.is_head else pod.group


def _placed(spec: Object, granted: GroupGrant) -> Object:
    placed: Object = {}
    if granted.node_selector:
        placed["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **granted.node_selector}
    if granted.tolerations:
        own: list[Object] = list(spec.get("tolerations") or ())
        placed["tolerations"] = [*own, *(one for one in granted.tolerations if one not in own)]
    return placed
