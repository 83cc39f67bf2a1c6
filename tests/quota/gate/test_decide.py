"""The gate's decisions, one row of the race table each; and rounds of them on a world without an API server."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.admission import Grant, GroupGrant
from rayward.kinds.kueue import ResourceFlavor, Workload, names
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.objects import Condition
from rayward.quota.gate.decide import decide, gives_back
from rayward.quota.gate.demand import Demand, Terms, demand_of, workload_body
from rayward.quota.gate.state import (
    AbortUpgrade,
    CreateWorkload,
    Decision,
    FinishWorkload,
    PatchWorkload,
    PodUse,
    ReleaseWorkload,
    ReportReady,
    Standing,
    State,
    SuspendJob,
    Unreserve,
    WriteGrant,
)
from tests.quota.gate.stage import group, sized

TERMS = Terms("q")
FLAVORS = {
    "f": msgspec.convert({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "f"}}}, ResourceFlavor),
}


def cluster(head: Any = 1, groups: list[dict[str, Any]] | None = None, uid: str = "c", **meta: Any) -> RayCluster:
    """A RayCluster of a head and a group ``w`` of two workers."""
    spec = {
        "headGroupSpec": {"template": sized(head)},
        "workerGroupSpecs": [group(replicas=2)] if groups is None else groups,
    }
    body = {"metadata": {"name": "one", "namespace": "ns", "uid": uid, **meta}, "spec": spec}
    return msgspec.convert(body, RayCluster)


def workload(
    of: RayCluster,
    *conditions: str,
    counts: Mapping[str, int] | None = None,
    after: str = "",
    replaces: Workload | None = None,
    created: int = 0,
    **meta: Any,
) -> Workload:
    """The Workload that asks for a cluster; conditions are those that are True."""
    demand = demand_of(of)
    demand = demand.with_counts(counts) if counts is not None else demand
    body: dict[str, Any] = workload_body(of, demand, TERMS, replaces, after)
    body["metadata"] |= {"uid": f"w{created}", "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z", **meta}
    assignments = [{"name": one.name, "count": one.count, "flavors": {"cpu": "f"}} for one in demand.sets]
    status: dict[str, Any] = {
        "conditions": [
            {"type": kind, "status": "True", "reason": names.BY_PREEMPTION if kind == names.EVICTED else kind}
            for kind in conditions
        ]
    }
    if names.QUOTA_RESERVED in conditions:
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": assignments}
    return msgspec.convert({**body, "status": status}, Workload)


HELD = (names.QUOTA_RESERVED, names.ADMITTED)
EVICTED = (*HELD, names.EVICTED)


def pods(of: Workload | None, **groups: int) -> tuple[PodUse, ...]:
    """Pods made by a Workload."""
    mark = of.metadata.annotation(names.SLICE_NAME) if of is not None else ""
    return tuple(
        PodUse(labels.HEAD_GROUP if name == "head" else name, mark) for name, n in groups.items() for _ in range(n)
    )


def state(of: RayCluster, *workloads: Workload, **more: Any) -> State:
    """What the gate reads."""
    running = more.pop("running", ())
    values: dict[str, Any] = {"terms": TERMS, "demand": demand_of(of), "flavors": FLAVORS, **more}
    return State(cluster=of, workloads=workloads, pods={of.metadata.uid: running} if running else {}, **values)


def granted(decision: Decision) -> Grant:
    """The grant that is written."""
    return next(write.grant for write in decision.writes if isinstance(write, WriteGrant))


def settled(before: State) -> State:
    """The same after its grant was written and the operator has answered."""
    for write in decide(before).writes:
        if isinstance(write, WriteGrant):
            before = dataclasses.replace(before, grant=write.grant)
    return dataclasses.replace(before, acknowledged=True)


def of(decision: Decision, kind: type[Any]) -> list[Any]:
    """The writes of one kind."""
    return [write for write in decision.writes if isinstance(write, kind)]


def test_a_new_cluster_asks_for_exactly_its_pods_and_may_run_none() -> None:
    decision = decide(state(cluster()))
    assert granted(decision).is_closed
    (made,) = of(decision, CreateWorkload)
    sets = {
        one["name"]: (one["count"], one["template"]["spec"]["containers"][0]["resources"])
        for one in made.body["spec"]["podSets"]
    }
    assert sets == {"head": (1, {"requests": {"cpu": "1"}}), "w": (2, {"requests": {"cpu": "1"}})}
    assert not made.body["metadata"]["ownerReferences"][0]["controller"]
    assert made.body["metadata"]["finalizers"] == [labels.WORKLOAD_FINALIZER]
    assert names.JOB_UID not in made.body["metadata"]["labels"]


def test_an_admitted_workload_lets_its_pods_run_and_no_more() -> None:
    found = granted(decide(state(cluster(), workload(cluster(), *HELD))))
    assert {name: one.pods for name, one in found.groups.items()} == {labels.HEAD_GROUP: 1, "w": 2}
    assert found.groups["w"].shape == demand_of(cluster()).sets[1].shape


@pytest.mark.parametrize("conditions", [(), (names.QUOTA_RESERVED,), EVICTED], ids=["waiting", "unchecked", "evicted"])
def test_without_admission_nothing_may_run(conditions: tuple[str, ...]) -> None:
    assert granted(decide(state(cluster(), workload(cluster(), *conditions)))).is_closed


def test_pods_that_are_ready_are_told_once_whoever_admits() -> None:
    held = workload(cluster(), *HELD)
    runs = settled(state(cluster(), held, running=pods(held, head=1, w=2)))
    assert not of(decide(runs), ReportReady)
    ready = dataclasses.replace(runs, ready=True)
    assert of(decide(ready), ReportReady) == [ReportReady(held)]
    # a report that the operator made under an earlier grant says nothing about this one
    assert not of(decide(dataclasses.replace(ready, acknowledged=False)), ReportReady)
    told = workload(cluster(), *HELD, names.PODS_READY)
    assert not of(decide(dataclasses.replace(ready, workloads=(told,))), ReportReady)


def test_a_second_edit_while_the_first_waits_is_asked_for_in_its_place() -> None:
    waits = workload(cluster())
    decision = decide(state(cluster(head=2), waits))
    (patch,) = of(decision, PatchWorkload)
    assert patch.workload is waits
    assert patch.change["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "2"
    }
    assert not of(decision, CreateWorkload)


def test_more_pods_of_one_shape_are_a_slice_with_the_same_names_in_the_same_order() -> None:
    holder = workload(cluster(), *HELD)
    more = cluster(groups=[group(replicas=3)])
    decision = decide(state(more, holder, running=pods(holder, head=1, w=2)))
    (made,) = of(decision, CreateWorkload)
    assert made.body["metadata"]["annotations"][names.SLICE_REPLACEMENT_FOR] == str(holder.key)
    assert [(one["name"], one["count"]) for one in made.body["spec"]["podSets"]] == [("head", 1), ("w", 3)]
    assert {name: one.pods for name, one in granted(decision).groups.items()} == {labels.HEAD_GROUP: 1, "w": 2}


def test_other_shapes_are_a_workload_of_their_own_and_pods_that_stay_are_not_asked_for_twice() -> None:
    holder = workload(cluster(), *HELD)
    edited = cluster(groups=[group(replicas=2, cpu=2)])
    decision = decide(state(edited, holder, running=pods(holder, head=1, w=1)))
    (made,) = of(decision, CreateWorkload)
    assert names.SLICE_REPLACEMENT_FOR not in made.body["metadata"]["annotations"]
    assert [(one["name"], one["count"]) for one in made.body["spec"]["podSets"]] == [("head", 0), ("w", 1)]
    grant = granted(decision)
    assert (grant.of("w").pods, grant.of("w").held, grant.of(labels.HEAD_GROUP).held) == (0, 1, 1)


def test_fewer_pods_give_quota_back_when_they_are_gone_and_the_operator_has_seen_the_grant() -> None:
    holder = workload(cluster(), *HELD)
    fewer = cluster(groups=[group(replicas=0)])
    still = settled(state(fewer, holder, running=pods(holder, head=1, w=2)))
    assert not of(decide(still), PatchWorkload)
    gone = state(fewer, holder, running=pods(holder, head=1), grant=still.grant, acknowledged=True)
    assert not of(decide(gone), PatchWorkload), "the grant still lets two workers run"
    (patch,) = of(decide(settled(gone)), PatchWorkload)
    assert [one["count"] for one in patch.change["spec"]["podSets"]] == [1, 0]


def test_an_evicted_workload_keeps_its_quota_until_its_last_pod_is_gone() -> None:
    evicted = workload(cluster(), *EVICTED)
    running = settled(state(cluster(), evicted, running=pods(evicted, w=1)))
    assert not of(decide(running), Unreserve)
    unseen = state(cluster(), evicted, grant=running.grant, acknowledged=False)
    assert not of(decide(unseen), Unreserve), "the operator may still make a pod by the grant before"
    (write,) = of(decide(settled(unseen)), Unreserve)
    assert write.workload is evicted


def test_a_slice_that_waits_for_an_evicted_one_is_finished_with_the_eviction() -> None:
    evicted = workload(cluster(), *EVICTED)
    more = cluster(groups=[group(replicas=3)])
    waits = workload(more, replaces=evicted, created=1)
    decision = decide(settled(state(more, evicted, waits)))
    assert [write.workload for write in of(decision, FinishWorkload)] == [waits]
    assert [write.workload for write in of(decision, Unreserve)] == [evicted]


def test_a_preempted_job_is_suspended_in_the_gates_name() -> None:
    evicted = workload(cluster(), *EVICTED)
    assert of(decide(state(cluster(), evicted, job="j")), SuspendJob) == [SuspendJob("j", mark=True)]
    assert not of(decide(state(cluster(), evicted, job="j", job_suspended=True)), SuspendJob)


def test_quota_of_a_deleted_cluster_returns_when_its_last_pod_is_gone() -> None:
    left = workload(cluster(), *HELD)
    assert not decide(State(workloads=(left,), pods={"c": pods(left, head=1)})).writes
    assert not decide(State(workloads=(left,), lingering=frozenset({""}))).writes
    assert of(decide(State(workloads=(left,))), FinishWorkload)
    done = workload(cluster(), *HELD, names.FINISHED)
    assert of(decide(State(workloads=(done,))), ReleaseWorkload) == [ReleaseWorkload(done, delete=True)]


def test_a_cluster_of_the_same_name_does_not_inherit_quota() -> None:
    old = workload(cluster(uid="before"), *HELD)
    decision = decide(state(cluster(), old))
    assert granted(decision).is_closed
    assert of(decision, CreateWorkload)
    assert [write.workload for write in of(decision, FinishWorkload)] == [old]


def test_a_suspended_cluster_gives_its_quota_back() -> None:
    holder = workload(cluster(), *HELD)
    before = state(cluster(), holder, stopped="spec.suspend is true", running=pods(holder, head=1))
    assert granted(decide(before)).is_closed
    assert not of(decide(settled(before)), FinishWorkload)
    after = settled(state(cluster(), holder, stopped="spec.suspend is true"))
    assert of(decide(after), FinishWorkload)


def test_a_workload_that_somebody_deletes_stops_its_pods_first() -> None:
    deleted = workload(cluster(), *HELD, deletionTimestamp="2026-01-01T00:01:00Z")
    before = state(cluster(), deleted, running=pods(deleted, head=1, w=2))
    assert granted(decide(before)).is_closed
    assert not of(decide(settled(before)), FinishWorkload)
    assert of(decide(settled(state(cluster(), deleted))), FinishWorkload)


def test_a_forged_grant_is_a_violation_and_closed() -> None:
    forged = Grant(uid="c", workload="x", groups={"w": GroupGrant(pods=5)})
    decision = decide(state(cluster(), workload(cluster()), grant=forged, acknowledged=True))
    assert decision.violation
    assert granted(decision).is_closed
    honest = settled(state(cluster(), workload(cluster(), *HELD)))
    assert not decide(honest).violation


_CLOSED = Grant(uid="c", revision=1)


def _tampered(group: str = "w", **change: Any) -> State:
    """A cluster that runs by its grant, of which somebody changed one group."""
    holder = workload(cluster(), *HELD)
    honest = settled(state(cluster(), holder, running=pods(holder, head=1, w=2)))
    assert honest.grant is not None
    groups = {**honest.grant.groups, group: msgspec.structs.replace(honest.grant.of(group), **change)}
    return dataclasses.replace(honest, grant=msgspec.structs.replace(honest.grant, groups=groups))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pods": 5}, "more pods than quota is reserved for"),
        ({"held": 50}, "more pods than quota is reserved for"),
        ({"shape": "larger"}, "a shape that no quota is reserved for"),
        ({"node_selector": None}, "changed by another client"),
        ({"tolerations": ({"operator": "Exists"},)}, "changed by another client"),
    ],
    ids=lambda each: "" if isinstance(each, str) else next(iter(each)),
)
def test_whatever_somebody_changes_of_a_grant_is_a_violation_and_put_right(change: dict[str, Any], says: str) -> None:
    forged = _tampered(**change)
    decision = decide(forged)
    assert decision.violation
    assert says in decision.events[0].message
    assert granted(decision).groups == granted(decide(dataclasses.replace(forged, grant=None))).groups
    assert not decide(settled(forged)).violation


def test_a_flavor_that_is_edited_is_no_violation() -> None:
    moved = msgspec.convert({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "g"}}}, ResourceFlavor)
    decision = decide(dataclasses.replace(_tampered(), flavors={"f": moved}))
    assert not decision.violation
    assert granted(decision).of("w").node_selector == {"pool": "g"}


def test_pods_of_earlier_shapes_that_stay_are_no_violation() -> None:
    holder = workload(cluster(), *HELD)
    edited = cluster(groups=[group(replicas=2, cpu=2)])
    other = workload(edited, *HELD, counts={"head": 0, "w": 2}, created=1)
    now = settled(state(edited, holder, other, running=pods(holder, head=1, w=2)))
    assert not decide(now).violation


def test_pods_that_nobody_admitted_are_a_violation_once_the_operator_should_have_deleted_them() -> None:
    running = state(cluster(), workload(cluster()), grant=_CLOSED, running=pods(None, head=1, w=2))
    assert not decide(running).violation, "the operator has not seen the grant yet"
    acknowledged = dataclasses.replace(running, acknowledged=True)
    decision = decide(acknowledged)
    assert decision.violation
    assert decision.events[0].message.startswith("More pods run than quota is reserved for: 1 of headgroup, 2 of w")
    going = tuple(dataclasses.replace(pod, terminating=True) for pod in pods(None, head=1, w=2))
    assert not decide(dataclasses.replace(acknowledged, pods={"c": going})).violation


def test_more_pods_than_were_granted_are_a_violation() -> None:
    holder = workload(cluster(), *HELD)
    now = settled(state(cluster(), holder, running=pods(holder, head=1, w=3)))
    assert "3 of w" in decide(now).events[0].message
    assert decide(now).violation


def test_an_upgrade_is_given_up_where_its_service_says_so_and_holds_no_quota() -> None:
    waits = state(cluster(), workload(cluster()), upgrade_of="svc")
    never, late = Standing(never_fits="never"), "it has waited too long"
    for given, reason in (
        ({"standing": never}, ""),
        ({"standing": never, "rejects": True}, "ExceedsMaxQuota"),
        ({"rejects": True}, ""),
        ({"overdue": late}, "UpgradeQueueTimeout"),
        ({"overdue": late, "upgrade_of": ""}, ""),
    ):
        aborts = of(decide(dataclasses.replace(waits, **given)), AbortUpgrade)
        assert [(write.service, write.reason) for write in aborts] == ([("svc", reason)] if reason else [])
    holds = state(cluster(), workload(cluster(), *HELD), upgrade_of="svc", overdue=late)
    assert not of(decide(holds), AbortUpgrade)


def test_why_it_waits_is_whoever_admits_word_where_the_numbers_do_not_tell() -> None:
    body = workload(cluster())
    asked = {"type": names.QUOTA_RESERVED, "status": "False", "reason": "Pending", "message": "no topology"}
    waits = msgspec.structs.replace(
        body, status=msgspec.structs.replace(body.status, conditions=(msgspec.convert(asked, Condition),))
    )
    for fits, says in ((True, "no topology; position 1 of 1"), (False, "position 1 of 1")):
        standing = Standing(message="position 1 of 1", fits_now=fits)
        assert granted(decide(state(cluster(), waits, standing=standing))).message == says


def test_a_problem_keeps_the_cluster_out_of_its_queue_and_is_said() -> None:
    decision = decide(state(cluster(), demand=None, problem=("TooManyPodSets", "19 pod sets")))
    assert not of(decision, CreateWorkload)
    assert (granted(decision).reason, granted(decision).message) == ("TooManyPodSets", "19 pod sets")


@pytest.mark.parametrize("reason", ["InvalidSpec", "TooManyPodSets"])
def test_an_edit_with_a_problem_stops_nothing_that_was_admitted(reason: str) -> None:
    holder = workload(cluster(), *HELD)
    before = settled(state(cluster(), holder, running=pods(holder, head=1, w=2)))
    edited = dataclasses.replace(before, demand=None, problem=(reason, "no"))
    decision = decide(settled(edited))
    held = {group: granted.held for group, granted in granted(decide(edited)).groups.items()}
    assert held == {"headgroup": 1, "w": 2}
    assert not of(decision, FinishWorkload)
    assert not of(decision, Unreserve)


def test_the_quota_of_a_preempted_cluster_whose_job_has_ended_is_given_back() -> None:
    evicted = workload(cluster(), *EVICTED)
    running = settled(state(cluster(), evicted, job="j", job_suspended=True))
    assert not of(decide(running), Unreserve)
    ended = dataclasses.replace(running, job="")
    assert of(decide(ended), Unreserve)


def test_what_can_never_fit_says_so() -> None:
    decision = decide(state(cluster(), workload(cluster()), standing=Standing(never_fits="never")))
    assert (granted(decision).reason, granted(decision).message) == ("ExceedsMaxQuota", "never")


def test_the_same_state_has_the_same_decision_and_a_settled_one_has_none() -> None:
    holder = workload(cluster(), *HELD)
    now = settled(state(cluster(), holder, running=pods(holder, head=1, w=2)))
    assert decide(now) == decide(now)
    assert not decide(now).writes


@pytest.mark.parametrize("names_", [["W", "w"], ["head", "submitter"], ["a.b", "a-b"], ["x" * 63, "y"]])
def test_pod_sets_have_names_that_kueue_takes_and_no_name_twice(names_: list[str]) -> None:
    demand: Demand = demand_of(cluster(groups=[group(name) for name in names_]))
    found = [one.name for one in demand.sets]
    assert len(set(found)) == len(found) == 3
    assert all(len(name) <= 63 and name == name.lower() and "." not in name for name in found)


def test_a_flavor_that_was_not_seen_yet_lets_no_pod_run_and_one_that_goes_away_moves_none() -> None:
    holder = workload(cluster(), *HELD)
    unseen = decide(state(cluster(), holder, flavors={}))
    assert granted(unseen).is_closed
    assert (granted(unseen).reason, "ResourceFlavor f" in granted(unseen).message) == ("FlavorNotFound", True)
    running = settled(state(cluster(), holder, running=pods(holder, head=1, w=2)))
    assert running.grant is not None
    assert running.grant.of("w").node_selector == {"pool": "f"}
    after = granted(decide(dataclasses.replace(running, flavors={})))
    assert (after.of("w").pods, after.of("w").node_selector) == (2, {"pool": "f"})


@pytest.mark.parametrize("owner", ["", "another"])
def test_quota_is_held_for_pods_that_were_orphaned_and_for_those_that_another_cluster_took(owner: str) -> None:
    orphaned = workload(cluster(uid="old"), *HELD)
    left = State(workloads=(orphaned,), pods={owner: pods(orphaned, head=1)})
    assert not decide(left).writes
    assert of(decide(State(workloads=(orphaned,), pods={"another": pods(None, head=1)})), FinishWorkload)


def test_the_submitter_of_a_later_attempt_holds_no_quota_of_the_earlier_one() -> None:
    earlier = workload(cluster(uid="old"), *HELD)
    mark = earlier.metadata.annotation(names.SLICE_NAME)
    for marks, finished in (({mark}, False), ({""}, False), ({"later"}, True), (set[str](), True)):
        decision = decide(State(workloads=(earlier,), lingering=frozenset(marks)))
        assert bool(of(decision, FinishWorkload)) == finished


def test_numbers_that_were_told_a_moment_ago_are_not_told_again_but_another_reason_is() -> None:
    waiting = settled(state(cluster(), workload(cluster()), standing=Standing(message="position 3 of 9")))
    moved = dataclasses.replace(waiting, standing=Standing(message="position 2 of 9"))
    assert of(decide(moved), WriteGrant)
    lately = dataclasses.replace(moved, told_lately=True)
    assert not of(decide(lately), WriteGrant)
    assert of(decide(dataclasses.replace(lately, standing=Standing(never_fits="never"))), WriteGrant)


def test_a_cluster_that_runs_when_it_is_put_in_a_queue_is_stopped_with_an_event() -> None:
    (event,) = decide(state(cluster(), running=pods(None, head=1, w=2))).events
    assert event.reason == "StoppedByQueue"
    assert "3 pods run" in event.message
    assert "LocalQueue q" in event.message
    assert not decide(state(cluster())).events


def test_only_what_frees_quota_is_looked_at_twice() -> None:
    holder = workload(cluster(), *HELD)
    running = settled(state(cluster(), holder, running=pods(holder, head=1, w=2)))
    assert not gives_back(decide(running))
    assert not gives_back(decide(state(cluster())))
    assert gives_back(decide(State(workloads=(holder,))))
    fewer = cluster(groups=[group(replicas=1)])
    assert gives_back(decide(settled(state(fewer, holder, running=pods(holder, head=1, w=1)))))
    assert gives_back(decide(settled(state(cluster(), workload(cluster(), *EVICTED)))))
