"""A small world around the real decisions of gate and engine: whatever happens in it, quota covers what runs.

There are objects in memory, an operator that acts on a copy of each RayCluster that may be old, and pods that end when
they please. Two services have two releases each: the one that was promoted is the base, the other the surge. A RayJob
has one cluster, and gets another one once its preempted attempt is gone. They wait in two queues that lend each other
what they do not use, and that are stopped now and then.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rayward.kinds import admission, labels
from rayward.kinds.admission import Admission, Queueing, is_acknowledged, read_grant, reported
from rayward.kinds.kueue import ClusterQueue, LocalQueue, ResourceFlavor, Workload, names
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.meta import with_condition
from rayward.operator.cluster.gate import gate_of
from rayward.quota.engine import status as to
from rayward.quota.engine.cycle import Admit, Evict
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.lifecycle import Surroundings, next_update
from rayward.quota.gate.apply import requeued
from rayward.quota.gate.decide import decide, gives_back
from rayward.quota.gate.demand import Terms, demand_of, form_of, origin_of
from rayward.quota.gate.state import (
    CreateWorkload,
    FinishWorkload,
    PatchWorkload,
    PodUse,
    ReleaseWorkload,
    State,
    SuspendJob,
    Unreserve,
    Write,
    WriteGrant,
)
from tests.quota.engine.building import groups as quota_groups
from tests.quota.gate.stage import group, sized

QUEUEING = Queueing(Admission.EMBEDDED)
JOB = "j"
"""The RayJob, and its only cluster at a time."""
NAMES = ("a", "b", "c", "d", JOB)
CLUSTERS = st.sampled_from(NAMES)
QUEUES = st.sampled_from(["q", "r"])
POLICIES = st.sampled_from(["None", "None", "Hold", "HoldAndDrain"])
_OTHER = {"a": "b", "b": "a", "c": "d", "d": "c", JOB: ""}
_ROUNDS = 60
FLAVOR = msgspec.convert({"metadata": {"name": "f"}}, ResourceFlavor)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
replace = msgspec.structs.replace


class Pod(msgspec.Struct):
    """A pod of the world."""

    uid: str
    """Of its RayCluster."""
    group: str
    mark: str
    leaving: bool = False


class GateWorld(RuleBasedStateMachine):
    """Everything there is, and everything that may happen."""

    def __init__(self) -> None:
        super().__init__()
        self.cpu = {"q": 3, "r": 2}
        """By LocalQueue, the nominal quota of the ClusterQueue behind it."""
        self.stopped = {"q": "None", "r": "None"}
        """The stop policy, by LocalQueue."""
        self.suspended: RayCluster | None = None
        """What the RayJob ran when the gate suspended it."""
        self.most_reserved = 5.0
        """What all queues have together, or what was reserved already when they had more."""
        self.clusters: dict[str, RayCluster] = {}
        self.seen: dict[str, RayCluster] = {}
        """What the operator knows of each."""
        self.workloads: dict[str, Workload] = {}
        self.pods: list[Pod] = []
        self.cached: list[Pod] = []
        """As the gate's cache has them."""
        self.promoted: set[str] = set()
        """Uids of RayClusters that serve, or did."""
        self.time = BEGIN
        self.made = 0

    # what users do

    @rule(
        name=CLUSTERS,
        head=st.integers(1, 2),
        workers=st.integers(0, 3),
        priority=st.sampled_from([0, 0, 9]),
        queue=QUEUES,
    )
    def create(self, name: str, head: int, workers: int, priority: int, queue: str = "q") -> None:
        if name in self.clusters or (name == JOB and self.suspended):
            return
        self.made += 1
        meta: dict[str, Any] = {
            "name": name,
            "namespace": "ns",
            "uid": f"u{self.made}",
            "labels": {labels.QUEUE_NAME: queue, "priority": str(priority)},
        }
        self.clusters[name] = msgspec.convert({"metadata": meta, "spec": _spec(head, workers)}, RayCluster)

    @rule(name=CLUSTERS, head=st.integers(1, 2), workers=st.integers(0, 3))
    def edit(self, name: str, head: int, workers: int) -> None:
        if name in self.clusters:
            spec = msgspec.convert({"spec": _spec(head, workers)}, RayCluster).spec
            self.clusters[name] = replace(self.clusters[name], spec=spec)

    @rule(name=CLUSTERS, orphans=st.booleans())
    def delete(self, name: str, orphans: bool = False) -> None:
        """Its pods go, or stay without an owner until they end by themselves."""
        found = self.clusters.pop(name, None)
        if found is not None:
            self.seen.pop(name, None)
            for pod in self.pods:
                if pod.uid == found.metadata.uid:
                    pod.leaving, pod.uid = True, "" if orphans else pod.uid

    @rule(name=CLUSTERS)
    def promote(self, name: str) -> None:
        """Requests go to a release that is up, and the one before it is deleted."""
        found = self.clusters.get(name)
        if found is None or name == JOB:
            return
        wanted = Counter({one.group: one.count for one in demand_of(found).sets if one.count})
        if Counter(pod.group for pod in self.pods if pod.uid == found.metadata.uid and not pod.leaving) == wanted:
            self.promoted.add(found.metadata.uid)
            self.delete(_OTHER[name])

    @rule(queue=QUEUES, cpu=st.integers(0, 5))
    def set_quota(self, queue: str, cpu: int) -> None:
        self.cpu[queue] = cpu
        self.most_reserved = max(sum(self.cpu.values()), self._reserved())

    @rule(queue=QUEUES, policy=POLICIES)
    def stop(self, queue: str, policy: str) -> None:
        self.stopped[queue] = policy

    # what controllers do

    @rule(name=CLUSTERS, most=st.sampled_from([1, 2, 99]), cached=st.booleans())
    def gate(self, name: str, most: int = 99, cached: bool = False) -> None:
        """A reconcile; with fewer writes than decided the gate died after the last one.

        What it reads of pods may be old, as long as it gives no quota back by it.
        """
        decision = decide(self._state(name, self.cached if cached else self.pods))
        if gives_back(decision):
            decision = decide(self._state(name, self.pods))
        for write in decision.writes[:most]:
            self._apply(name, write)

    @rule()
    def cache_pods(self) -> None:
        """The gate's cache of pods catches up."""
        self.cached = [msgspec.structs.replace(pod) for pod in self.pods]

    @rule(dies=st.booleans())
    def engine(self, dies: bool = False) -> None:
        """A new engine looks at everything; one that dies has admitted a slice, and has not finished the one before."""
        self.time += timedelta(seconds=1)
        engine = self._engine()
        for workload in list(self.workloads.values()):
            replaced = self.workloads.get(workload.replaces.partition("/")[2])
            if workload.reserved and replaced is not None and not replaced.finished:
                self._finish_replaced(replaced)
            found = next_update(workload, self._around(engine, workload), self.time).status
            if found is not None and not self.workloads[workload.metadata.name].finished:
                self._put(workload.metadata.name, found)
        for workload in self.workloads.values():
            engine.set_workload(workload, self.time.timestamp())
        for decision in engine.run(self.time.timestamp()):
            name = decision.key.partition("/")[2]
            workload = self.workloads[name]
            if isinstance(decision, Admit):
                self._put(name, to.reserved(workload, decision.cluster_queue, decision.grants, (), self.time))
                replaced = self.workloads.get(decision.replaces.partition("/")[2])
                if replaced is not None:
                    if dies:
                        return
                    self._finish_replaced(replaced)
            elif isinstance(decision, Evict):
                status = to.evicted(workload, names.BY_PREEMPTION, "", self.time, preempted=decision.reason)
                self._put(name, status)

    @rule(name=CLUSTERS, operated=st.booleans())
    def progress(self, name: str, operated: bool) -> None:
        """Everybody gets to work on one cluster, once; chance alone seldom comes that far."""
        self.gate(name, 99)
        self.engine()
        self.gate(name, 99)
        self.refresh(name)
        if operated:
            self.operate(name)

    @rule(name=CLUSTERS)
    def gate_twice(self, name: str) -> None:
        self.gate(name, 99)
        self.gate(name, 99)

    @rule(name=CLUSTERS)
    def refresh(self, name: str) -> None:
        """The operator's cache catches up."""
        if name in self.clusters:
            self.seen[name] = self.clusters[name]

    @rule(name=CLUSTERS)
    def operate(self, name: str) -> None:
        """The operator deletes and makes pods by what it knows, and then reports by what it acted."""
        known = self.seen.get(name)
        if known is None or name not in self.clusters:
            return
        gate = gate_of(known, QUEUEING)
        uid = known.metadata.uid
        mine = [pod for pod in self.pods if pod.uid == uid]
        if gate.is_shut:
            for pod in mine:
                pod.leaving = True
        else:
            for one in demand_of(known).sets:
                self._size(gate, uid, one.group, one.shape, one.count)
        live = self.clusters[name]
        status = replace(
            live.status, conditions=with_condition(live.status.conditions, reported(gate.grant), self.time)
        )
        self.clusters[name] = replace(live, status=status)

    @rule()
    def job(self) -> None:
        """A RayJob that was suspended deletes its cluster, and is resumed by the gate when nothing of it is left."""
        found = self.clusters.get(JOB)
        if self.suspended is None:
            return
        if found is not None:
            self.delete(JOB)
        uid = self.suspended.metadata.uid
        left = any(pod.uid == uid for pod in self.pods) or any(
            one.metadata.label(labels.CLUSTER) == JOB and not one.finished for one in self.workloads.values()
        )
        if not left:
            self.made += 1
            meta = replace(self.suspended.metadata, uid=f"u{self.made}", annotations=None)
            self.clusters[JOB], self.suspended = replace(self.suspended, metadata=meta), None

    @precondition(lambda self: any(pod.leaving for pod in self.pods))
    @rule()
    def pod_ends(self) -> None:
        self.pods.remove(next(pod for pod in self.pods if pod.leaving))

    # what must hold

    @invariant()
    def quota_covers_what_runs(self) -> None:
        running = Counter((pod.uid, pod.mark, pod.group) for pod in self.pods)
        for (uid, mark, group_name), count in running.items():
            held = [
                one.count
                for workload in self.workloads.values()
                if uid in ("", workload.metadata.label(labels.CLUSTER_UID))
                and origin_of(workload) == mark
                and workload.reserved
                and not workload.finished
                for one in workload.spec.pod_sets
                if form_of(workload)[one.name].group == group_name
            ]
            assert count <= max(held, default=0), f"{count} pods of {group_name} of {uid} run by {mark}"

    @invariant()
    def no_more_is_reserved_than_there_is(self) -> None:
        """Quota that was lowered may be exceeded by what had it before, and by nothing else."""
        reserved = self._reserved()
        assert reserved <= self.most_reserved, f"{reserved} CPUs are reserved of {self.cpu}"
        self.most_reserved = max(sum(self.cpu.values()), reserved)

    def teardown(self) -> None:
        """Once everybody has done all there is to do, what can run runs."""
        self._settle()
        for queue, policy in self.stopped.items():
            held = [one for one in self.workloads.values() if one.spec.queue_name == queue and one.reserved]
            assert policy != "HoldAndDrain" or not held, f"{queue} is drained, and {len(held)} Workloads hold quota"
        self.stopped = dict.fromkeys(self.stopped, "None")
        self._settle()
        uids = {found.metadata.uid for found in self.clusters.values()}
        assert {one.metadata.label(labels.CLUSTER_UID) for one in self.workloads.values()} <= uids, "quota was lost"
        roles = {one.metadata.name: self._role(one.metadata.label(labels.CLUSTER)) for one in self.workloads.values()}
        told = {one.metadata.name: one.metadata.label(labels.ROLE) for one in self.workloads.values()}
        assert told == roles, "roles are not those of the releases"
        assert self.suspended is None, "a RayJob was not resumed"
        for name, found in self.clusters.items():
            wanted = Counter({one.group: one.count for one in demand_of(found).sets if one.count})
            has = Counter(pod.group for pod in self.pods if pod.uid == found.metadata.uid)
            mine = [
                one for one in self.workloads.values() if one.metadata.label(labels.CLUSTER_UID) == found.metadata.uid
            ]
            waiting = [one for one in mine if not one.reserved]
            assert has == wanted or waiting, f"{name} neither runs nor waits: {has} of {wanted}"
            for one in waiting:
                assert not self._is_admissible(one), f"{one.metadata.name} of {name} waits, and could be admitted"

    def _settle(self) -> None:
        """Everybody gets to work until nobody does anything any more."""
        for _ in range(_ROUNDS):
            before = dict(self.clusters), dict(self.workloads), list(self.pods)
            for name in NAMES:
                self.gate(name, 99)
                self.refresh(name)
                self.operate(name)
            self.job()
            self.engine()
            self.pods = [pod for pod in self.pods if not pod.leaving]
            self.quota_covers_what_runs()
            self.no_more_is_reserved_than_there_is()
            if before == (self.clusters, self.workloads, self.pods):
                return
        raise AssertionError(f"somebody still acts after {_ROUNDS} rounds")

    def _is_admissible(self, workload: Workload) -> bool:
        """Whether there is room, or those have it who may be preempted: the less important, and borrowers."""
        holders = [one for one in self.workloads.values() if one.reserved and str(one.key) != workload.replaces]
        replaced = [one for one in self.workloads.values() if one.reserved and str(one.key) == workload.replaces]
        queue, need = workload.spec.queue_name, _cpus(workload) - sum(_cpus(one) for one in replaced)
        used = {
            each: sum(_cpus(one) for one in (*holders, *replaced) if one.spec.queue_name == each) for each in self.cpu
        }
        free = sum(self.cpu.values()) - sum(used.values())
        if need <= free:
            return True
        if need > self.cpu[queue]:
            # Kueue preempts for nothing that the queue's own quota could not hold (fits in flavorassigner.go).
            return False
        priority = workload.spec.priority or 0
        lower = sum(
            _cpus(one) for one in holders if one.spec.queue_name == queue and (one.spec.priority or 0) < priority
        )
        borrowed = sum(max(0.0, used[each] - self.cpu[each]) for each in self.cpu if each != queue)
        within = used[queue] < self.cpu[queue] and used[queue] - lower + need <= self.cpu[queue]
        return need <= free + lower or (within and need <= free + lower + borrowed)

    # inside

    def _reserved(self) -> float:
        """A slice and the one that it replaces count once."""
        held = [one for one in self.workloads.values() if one.reserved and not one.finished]
        replaced = {one.replaces for one in held}
        return sum(_cpus(one) for one in held if str(one.key) not in replaced)

    def _engine(self) -> Engine:
        engine = Engine()
        engine.set_flavor(FLAVOR)
        engine.set_namespace("ns", {})
        for queue, cpu in self.cpu.items():
            spec = {
                "namespaceSelector": {},
                "cohortName": "both",
                "resourceGroups": quota_groups({"f": {"cpu": cpu, "memory": "100Gi"}}),
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "stopPolicy": self.stopped[queue],
            }
            engine.set_cluster_queue(msgspec.convert({"metadata": {"name": f"c{queue}"}, "spec": spec}, ClusterQueue))
            engine.set_local_queue(_local_queue(queue))
        return engine

    def _around(self, engine: Engine, workload: Workload) -> Surroundings:
        queue = workload.spec.queue_name
        state = engine.inventory.state(f"c{queue}")
        return Surroundings(_local_queue(queue), f"c{queue}", state, self.stopped[queue], ())

    def _finish_replaced(self, replaced: Workload) -> None:
        self._put(replaced.metadata.name, to.finished(replaced, names.SLICE_REPLACED, "", self.time))

    def _role(self, name: str) -> str:
        found, other = self.clusters.get(name), self.clusters.get(_OTHER[name])
        if found is None or found.metadata.uid in self.promoted:
            return "base"
        return "surge" if other is not None and other.metadata.uid in self.promoted else "base"

    def _size(self, gate: Any, uid: str, group_name: str, shape: str, count: int) -> None:
        mine = [pod for pod in self.pods if pod.uid == uid and pod.group == group_name]
        staying = [pod for pod in mine if not pod.leaving]
        for pod in staying[gate.most(group_name, count, 1) :]:
            pod.leaving = True
        if gate.grant is None or gate.grant.of(group_name).shape != shape:
            return
        room = gate.grant.of(group_name).pods - sum(pod.mark == gate.grant.workload for pod in mine)
        for _ in range(min(room, gate.most(group_name, count, 1) - len(staying))):
            self.pods.append(Pod(uid, group_name, gate.grant.workload))

    def _state(self, name: str, known: list[Pod]) -> State:
        cluster = self.clusters.get(name)
        of_name = [one for one in self.workloads.values() if one.metadata.label(labels.CLUSTER) == name]
        of_name.sort(key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))
        pods: dict[str, tuple[PodUse, ...]] = {}
        for pod in known:
            pods[pod.uid] = (*pods.get(pod.uid, ()), PodUse(pod.group, pod.mark))
        if cluster is None:
            return State(workloads=tuple(of_name), pods=pods)
        grant = read_grant(cluster)
        return State(
            cluster=cluster,
            terms=Terms(
                cluster.metadata.label(labels.QUEUE_NAME),
                self._role(name),
                priority=int(cluster.metadata.label("priority")),
            ),
            demand=demand_of(cluster),
            grant=grant,
            acknowledged=is_acknowledged(grant, cluster.status.conditions),
            workloads=tuple(of_name),
            pods=pods,
            flavors={"f": FLAVOR},
            job=JOB if name == JOB else "",
            job_suspended=name == JOB and self.suspended is not None,
        )

    def _apply(self, name: str, write: Write) -> None:
        match write:
            case WriteGrant(grant):
                found = self.clusters[name]
                annotations = {**(found.metadata.annotations or {}), labels.ADMITTED: admission.written(grant)}
                self.clusters[name] = replace(found, metadata=replace(found.metadata, annotations=annotations))
            case CreateWorkload(body):
                self.made += 1
                meta = {**body["metadata"], "uid": f"w{self.made}", "generation": 1}
                meta["creationTimestamp"] = to.rfc3339(self.time)
                made = msgspec.convert({"metadata": meta, "spec": body["spec"]}, Workload)
                assert made.metadata.name not in self.workloads, "a name was chosen twice"
                self.workloads[made.metadata.name] = made
            case PatchWorkload(workload, change):
                self._patch(workload.metadata.name, change)
            case Unreserve(workload):
                self._put(workload.metadata.name, requeued(self.workloads[workload.metadata.name], self.time))
            case FinishWorkload(workload, reason, message):
                found = self.workloads[workload.metadata.name]
                self._put(workload.metadata.name, to.finished(found, reason, message, self.time))
            case SuspendJob():
                self.suspended = self.clusters[name]
            case ReleaseWorkload(workload, _):
                self.workloads.pop(workload.metadata.name, None)
            case _:
                raise AssertionError(f"nobody expects {write}")

    def _put(self, name: str, status: Any) -> None:
        self.workloads[name] = replace(self.workloads[name], status=status)

    def _patch(self, name: str, change: dict[str, Any]) -> None:
        found = self.workloads[name]
        body: dict[str, Any] = msgspec.to_builtins(found.spec)
        spec = msgspec.convert({**body, **change.get("spec", {})}, type(found.spec))
        if found.reserved and "podSets" in change.get("spec", {}):
            before = {one.name: one.count for one in found.spec.pod_sets}
            after = {one.name: one.count for one in spec.pod_sets}
            assert before.keys() == after.keys(), "pod sets of a reserved Workload do not change"
            assert all(after[each] <= before[each] for each in after), "counts of a reserved Workload only go down"
        more = change.get("metadata", {}).get("annotations", {})
        tags = change.get("metadata", {}).get("labels", {})
        meta = replace(
            found.metadata,
            annotations={**(found.metadata.annotations or {}), **more},
            labels={**(found.metadata.labels or {}), **tags},
        )
        meta = replace(meta, generation=found.metadata.generation + 1)
        self.workloads[name] = replace(found, spec=spec, metadata=meta)


def _local_queue(name: str) -> LocalQueue:
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": f"c{name}"}}, LocalQueue
    )


def _spec(head: int, workers: int) -> dict[str, Any]:
    return {"headGroupSpec": {"template": sized(head)}, "workerGroupSpecs": [group(replicas=workers)]}


def _cpus(workload: Workload) -> float:
    return float(
        sum(
            one.count * float(one.template["spec"]["containers"][0]["resources"]["requests"]["cpu"])
            for one in workload.spec.pod_sets
        )
    )
