"""Clusters and pods for decisions, and a world small enough to be certain of in which plans are carried out."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec

from rayward.kinds import names, shapes
from rayward.kinds.raycluster import RayCluster, WorkerGroup
from rayward.kube.core.objects import Condition, KubeObject, ObjectMeta
from rayward.kube.core.pod import ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus
from rayward.kube.core.resource import PODS, SECRETS, SERVICES, Resource
from rayward.kube.core.service import Service
from rayward.operator.cluster.decide import plan
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import Finalizers, Make, Mend, NewPod, NewSecret, Plan, Remove, Write
from rayward.operator.cluster.pod import RayPod
from tests.operator.stage import Object, manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cluster(made: Object | None = None, *, uid: str = "c", generation: int = 1) -> RayCluster:
    """A RayCluster as the cache has it."""
    whole = made or manifest()
    metadata = {"namespace": "ns", "uid": uid, "generation": generation, **whole["metadata"]}
    return msgspec.convert({**whole, "metadata": metadata}, RayCluster)


def status(phase: str = "Running", ready: str = "True", ended: int | None = None) -> PodStatus:
    """A pod's status."""
    terminated = ContainerStateTerminated(exit_code=ended) if ended is not None else None
    containers = (ContainerStatus(name="ray", state=ContainerState(terminated=terminated)),)
    conditions = (Condition(type="Ready", status=ready),) if ready else None
    return PodStatus(phase=phase, conditions=conditions, container_statuses=containers, pod_ip="10.42.0.1")


class World:
    """Pods and other children of one cluster. Deleted pods linger until ``end`` is called."""

    def __init__(self, of: RayCluster) -> None:
        self.cluster = of
        self.pods: dict[str, RayPod] = {}
        self.children: dict[tuple[Resource, str], KubeObject] = {}
        self.most: Counter[str] = Counter()
        self._made = 0

    def observed(self, **more: Any) -> Observed:
        """A look at it."""
        services = tuple(found for found in self.children.values() if isinstance(found, Service))
        return Observed(pods=tuple(self.pods.values()), owned=dict(self.children), services=services, **more)

    def plan(self) -> Plan:
        """What is decided about it."""
        return plan(self.cluster, self.observed(), NOW)

    def step(self, most_writes: int | None = None) -> bool:
        """Carry out one plan, or only its first writes; whether there was anything to do."""
        todo = self.plan()
        done = 0
        for stage in todo.stages:
            for write in stage:
                if done == most_writes:
                    return True
                self._carry_out(write)
                done += 1
        if not todo.writes and todo.status is not None:
            self.cluster = msgspec.structs.replace(self.cluster, status=todo.status)
        return todo.writes

    def settle(self, turns: int = 50) -> None:
        """Plans are carried out and pods start and end, until nothing is left to do."""
        for _ in range(turns):
            busy = self.step()
            busy = self.end() or busy
            busy = self.start() or busy
            if not busy:
                # The last word of the status.
                self.step()
                return
        raise AssertionError(f"still busy: {self.plan()}")

    def start(self) -> bool:
        """Every pod that can becomes ready."""
        waiting = [pod for pod in self.pods.values() if not pod.deleting and pod.status.phase == ""]
        for pod in waiting:
            self.set_status(pod.metadata.name, status())
        return bool(waiting)

    def end(self) -> bool:
        """Every pod whose deletion was asked for goes."""
        gone = [name for name, pod in self.pods.items() if pod.deleting]
        for name in gone:
            del self.pods[name]
        return bool(gone)

    def set_status(self, name: str, new: PodStatus) -> None:
        """A kubelet speaks."""
        self.pods[name] = msgspec.structs.replace(self.pods[name], status=new)

    def mark_deleted(self, name: str) -> None:
        """Somebody asked for its deletion."""
        pod = self.pods[name]
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        self.pods[name] = msgspec.structs.replace(pod, metadata=metadata)

    def edit(self, **spec: Any) -> None:
        """A user changes the spec."""
        metadata = msgspec.structs.replace(self.cluster.metadata, generation=self.cluster.metadata.generation + 1)
        changed = msgspec.structs.replace(self.cluster.spec, **spec)
        self.cluster = msgspec.structs.replace(self.cluster, metadata=metadata, spec=changed)

    def live(self, group: str | None = None) -> list[RayPod]:
        """Pods that nobody asked to go."""
        return [pod for pod in self.pods.values() if not pod.deleting and group in (None, pod.group)]

    def add_pod(self, new: NewPod, replica_name: str = "") -> str:
        """A pod as our operator makes it."""
        self._made += 1
        suffix = f"{self._made:05}"
        if new.group is None:
            body = shapes.head_pod(self.cluster, names.pod_prefix(self.cluster.metadata.name) + suffix)
        else:
            replica = new.replica_name or replica_name or f"{new.group.group_name}-r{new.replica}-{self._made // 100}"
            place = shapes.ReplicaPlace(replica, new.replica, new.host)
            name = names.pod_prefix(self.cluster.metadata.name, new.group.group_name) + suffix
            body = shapes.worker_pod(self.cluster, new.group, name, place)
        body["metadata"] |= {"uid": suffix, "creationTimestamp": f"2026-01-01T00:00:{self._made % 60:02}Z"}
        pod = msgspec.convert(body, RayPod)
        self.pods[pod.metadata.name] = pod
        self._count()
        return pod.metadata.name

    def _carry_out(self, write: Write) -> None:
        if isinstance(write, NewPod):
            self.add_pod(write)
        elif isinstance(write, Remove):
            if write.resource == PODS:
                assert self.pods[write.name].metadata.uid == write.uid
                self.mark_deleted(write.name)
            else:
                del self.children[write.resource, write.name]
        elif isinstance(write, Make):
            kind = Service if write.resource == SERVICES else KubeObject
            self.children[write.resource, write.body["metadata"]["name"]] = msgspec.convert(write.body, kind)
        elif isinstance(write, NewSecret):
            self.children[SECRETS, write.name] = KubeObject(ObjectMeta(name=write.name))
        elif isinstance(write, Finalizers):
            metadata = msgspec.structs.replace(self.cluster.metadata, finalizers=write.finalizers)
            self.cluster = msgspec.structs.replace(self.cluster, metadata=metadata)
        else:
            self._mend(write)

    def _mend(self, write: Mend) -> None:
        marks = write.body["metadata"]["annotations"]
        holders: dict[Any, Any] = self.pods if write.resource == PODS else self.children
        place: Any = write.name if write.resource == PODS else (write.resource, write.name)
        found = holders[place]
        annotations = {**(found.metadata.annotations or {}), **marks}
        metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
        holders[place] = msgspec.structs.replace(found, metadata=metadata)

    def _count(self) -> None:
        present = Counter(pod.group for pod in self.pods.values() if not pod.deleting or pod.is_head)
        for group, count in present.items():
            self.most[group] = max(self.most[group], count)


def settled(made: Object | None = None) -> World:
    """A cluster that has become what its manifest says."""
    world = World(cluster(made))
    world.settle()
    return world


def groups(world: World) -> list[WorkerGroup]:
    """The worker groups."""
    return list(world.cluster.groups)


def regroup(world: World, **change: Any) -> None:
    """A user changes the first worker group."""
    first, *rest = groups(world)
    world.edit(worker_group_specs=[msgspec.structs.replace(first, **change), *rest])


def annotate(world: World, annotations: dict[str, str]) -> None:
    """A user sets the cluster's annotations."""
    metadata = msgspec.structs.replace(world.cluster.metadata, annotations=annotations)
    world.cluster = msgspec.structs.replace(world.cluster, metadata=metadata)


def hold(world: World, name: str) -> None:
    """A pod does not start."""
    world.set_status(name, status("Pending", "False"))


def removed(world: World) -> set[str]:
    """The names of what the plan deletes."""
    return {write.name for stage in world.plan().stages for write in stage if isinstance(write, Remove)}
