from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest

from rayward.changes.costs import Budget, Node, shapes_of
from rayward.changes.outcomes import Conflict, Invalid
from rayward.changes.planning import check_base, plan
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules
from rayward.kube.machinery import quantity
from rayward.kube.machinery.quotausage import selectors
from tests.kinds.clusters import Object, changed, manifest, service_manifest

CLUSTER = Ref("RayCluster", "c", "default")
SERVICE = Ref("RayService", "s", "default")
RESOURCES = {"requests": {"cpu": "1", "memory": "2Gi"}}


def _sized(body: Object, prefix: str = "spec") -> Object:
    for path in ("headGroupSpec", "workerGroupSpecs.0"):
        body = changed(body, f"{prefix}.{path}.template.spec.containers.0.resources", RESOURCES)
    return changed(body, "metadata", {**body["metadata"], "uid": "u", "generation": 3})


def _amounts(**given: str) -> dict[str, Any]:
    return {name.replace("_", "."): quantity.parse(value) for name, value in given.items()}


def _of_priority(operator: str, *values: str) -> Object:
    expression: Object = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


def _texts(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_creation_costs_what_its_pods_request() -> None:
    found = plan(CLUSTER, None, _sized(manifest()))
    assert (found.action, found.base, found.changes) == ("create", {}, ())
    assert _texts(found.after) == {"cpu": "2", "memory": "4Gi", "pods": "2"}


def test_nothing_changes() -> None:
    found = plan(CLUSTER, _sized(manifest()), _sized(manifest()))
    assert (found.action, found.strongest, found.downtime) == ("none", None, "none")


def test_a_new_cluster_needs_room_for_both() -> None:
    live = _sized(service_manifest(), "spec.rayClusterConfig")
    wanted = changed(live, "spec.rayClusterConfig.rayVersion", "2.61.0")
    found = plan(SERVICE, live, wanted)
    assert found.strongest is Effect.NEW_CLUSTER
    assert _texts(found.now) == {"cpu": "2", "memory": "4Gi", "pods": "2"}
    assert _texts(found.peak) == {"cpu": "4", "memory": "8Gi", "pods": "4"}
    assert found.downtime.startswith("none")
    assert not found.approval


def _autoscaled(replicas: int) -> tuple[Object, Object]:
    """A RayService, and the spec of its cluster after the autoscaler has worked."""
    live = changed(_sized(service_manifest(), "spec.rayClusterConfig"), "spec.rayClusterConfig.rayVersion", "2.60.0")
    live = changed(live, "spec.rayClusterConfig.workerGroupSpecs.0.maxReplicas", 9)
    return live, changed(live, "spec.rayClusterConfig.workerGroupSpecs.0.replicas", replicas)["spec"][
        "rayClusterConfig"
    ]


def test_now_is_what_the_cluster_has_and_not_what_the_service_says() -> None:
    live, running = _autoscaled(4)
    wanted = changed(live, "spec.rayClusterConfig.rayVersion", "2.61.0")
    found = plan(SERVICE, live, wanted, running=running)
    assert [_texts(one)["pods"] for one in (found.now, found.peak, found.after)] == ["5", "7", "2"]


def test_a_cluster_that_is_made_ready_costs_too() -> None:
    live, running = _autoscaled(4)
    wanted = changed(live, "spec.rayClusterConfig.rayVersion", "2.61.0")
    found = plan(SERVICE, live, wanted, running=running, beside=[live["spec"]["rayClusterConfig"]])
    assert [_texts(one)["pods"] for one in (found.now, found.peak, found.after)] == ["7", "9", "2"]
    waiting = {**live["spec"]["rayClusterConfig"], "suspend": True}
    assert _texts(plan(SERVICE, live, wanted, running=running, beside=[waiting]).now)["pods"] == "5"
    first = plan(SERVICE, live, wanted, beside=[live["spec"]["rayClusterConfig"]])
    assert _texts(first.now)["pods"] == "2"


@pytest.mark.parametrize(
    ("path", "value", "autoscaled", "pods"),
    [
        ("spec.rayClusterConfig.workerGroupSpecs.0.minReplicas", 0, True, "5"),
        ("spec.rayClusterConfig.workerGroupSpecs.0.maxReplicas", 3, True, "4"),
        ("spec.rayClusterConfig.workerGroupSpecs.0.replicas", 2, True, "5"),
        ("spec.rayClusterConfig.workerGroupSpecs.0.replicas", 2, False, "3"),
        (
            "spec.serveConfigV2",
            "applications: [{name: app, import_path: 'app:model', route_prefix: /, args: {size: 7}}]",
            False,
            "5",
        ),
        ("spec.suspend", True, False, None),
    ],
)
def test_an_edit_in_place_leaves_the_cluster_the_sizes_that_it_has(
    path: str, value: Any, autoscaled: bool, pods: str | None
) -> None:
    live, running = _autoscaled(4)
    if autoscaled:
        live = changed(live, "spec.rayClusterConfig.enableInTreeAutoscaling", True)
        running = {**running, "enableInTreeAutoscaling": True}
    found = plan(SERVICE, live, changed(live, path, value), running=running)
    assert _texts(found.now)["pods"] == "5"
    assert _texts(found.after).get("pods") == pods


def test_kuberay_passes_no_size_to_a_cluster_that_serves() -> None:
    live, running = _autoscaled(4)
    wanted = changed(live, "spec.rayClusterConfig.workerGroupSpecs.0.replicas", 2)
    found = plan(SERVICE, live, wanted, running=running, rules=Rules.KUBERAY_1_6)
    assert [_texts(one)["pods"] for one in (found.now, found.after)] == ["5", "5"]


def test_recreate_names_the_pods_and_asks() -> None:
    live = changed(_sized(manifest()), "spec.upgradeStrategy", {"type": "Recreate"})
    found = plan(CLUSTER, live, changed(live, "spec.rayVersion", "2.61.0"))
    assert [(one.group, one.pods) for one in found.restarts] == [("headgroup", 1), ("small", 1)]
    assert found.approval == ("Recreate: spec.rayVersion",)
    assert "head" in found.downtime
    assert _texts(found.peak) == _texts(found.now)


def test_a_group_that_comes_while_all_pods_are_replaced_counts() -> None:
    live = changed(_sized(manifest()), "spec.upgradeStrategy", {"type": "Recreate"})
    added = {**live["spec"]["workerGroupSpecs"][0], "groupName": "other"}
    wanted = changed(changed(live, "spec.workerGroupSpecs.-", added), "spec.rayVersion", "2.61.0")
    found = plan(CLUSTER, live, wanted)
    assert [_texts(one)["pods"] for one in (found.now, found.after, found.peak)] == ["2", "3", "3"]


def test_a_group_that_grows_while_its_workers_roll_has_old_and_new_pods_at_its_peak() -> None:
    live = changed(_sized(manifest()), "metadata.annotations", {labels.ROLLING_UPDATE: "workers"})
    smaller = {"requests": {"cpu": "500m", "memory": "4Gi"}}
    wanted = changed(live, "spec.workerGroupSpecs.0.template.spec.containers.0.resources", smaller)
    wanted = changed(wanted, "spec.workerGroupSpecs.0.replicas", 2)
    found = plan(CLUSTER, live, wanted)
    assert found.strongest is Effect.ROLLING_WORKERS
    assert _texts(found.after) == {"cpu": "2", "memory": "10Gi", "pods": "3"}
    assert _texts(found.peak) == {"cpu": "2500m", "memory": "10Gi", "pods": "3"}


def test_a_spec_that_is_rejected_is_suspended_all_the_same() -> None:
    live = _sized(manifest())
    wrong = changed(live, "spec.tlsOptions", {"enabled": True})
    found = plan(CLUSTER, live, wrong)
    assert (found.strongest, found.downtime, found.after) == (Effect.REFUSED, "none: nothing changes", found.now)
    stopped = plan(CLUSTER, live, changed(wrong, "spec.suspend", True))
    assert (stopped.strongest, stopped.after, stopped.peak) == (Effect.REFUSED, {}, found.now)
    assert stopped.downtime == "until it is resumed: all pods are deleted"


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_of_a_group_that_shrinks_pods_of_the_template_stay_whatever_their_names(names: str) -> None:
    live = changed(_sized(manifest()), "spec.workerGroupSpecs.0.replicas", 2)
    head, worker = (shape.pod for shape in shapes_of("RayCluster", live))
    before = changed(live, "spec.workerGroupSpecs.0.template.spec.containers.0.resources", {"requests": {"cpu": "4"}})
    older = shapes_of("RayCluster", before)[1].pod

    def made(pod: Object, name: str, second: int) -> Object:
        times = {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{second}Z"}
        return {**pod, "metadata": {**pod["metadata"], **times}}

    pods = sorted((made(head, "h", 0), made(older, names[0], 1), made(worker, names[1], 2)), key=str)
    found = plan(CLUSTER, live, changed(live, "spec.workerGroupSpecs.0.replicas", 1), pods=pods)
    assert (_texts(found.now)["cpu"], _texts(found.after)["cpu"]) == ("6", "2")


def test_limits_that_the_peak_would_pass() -> None:
    live = _sized(service_manifest(), "spec.rayClusterConfig")
    wanted = changed(live, "spec.rayClusterConfig.rayVersion", "2.61.0")
    used = _amounts(requests_cpu="2", memory="4Gi")
    tight = Budget("resourcequota/team", _amounts(requests_cpu="3", memory="16Gi"), used)
    assert plan(SERVICE, live, wanted, budgets=[tight]).blocked == ("resourcequota/team: needs 2 cpu, has 1",)
    wide = Budget("resourcequota/team", _amounts(requests_cpu="4", memory="16Gi"), used)
    assert plan(SERVICE, live, wanted, budgets=[wide]).blocked == ()


def test_nodes_without_room() -> None:
    live = _sized(manifest())
    wanted = changed(live, "spec.workerGroupSpecs.0.replicas", 3)
    room = Node(_amounts(cpu="1500m", memory="8Gi"))
    assert plan(CLUSTER, live, wanted, nodes=[room, room]).blocked == ()
    assert plan(CLUSTER, live, wanted, nodes=[room]).blocked == ("no node has room for 2 pods of group small",)


@pytest.mark.parametrize(
    ("metadata", "strategy"), [({}, "Recreate"), ({"annotations": {labels.ROLLING_UPDATE: "workers"}}, "None")]
)
def test_pods_that_are_replaced_by_larger_ones_have_to_find_room(metadata: Object, strategy: str) -> None:
    live = changed(_sized(manifest()), "spec.upgradeStrategy", {"type": strategy})
    live["metadata"] = {**live["metadata"], **metadata}
    large = "spec.workerGroupSpecs.0.template.spec.containers.0.resources"
    wanted = changed(live, large, {"requests": {"cpu": "1000", "memory": "2Gi"}})
    node = Node(_amounts(cpu="0", memory="0"), own={"small": _amounts(cpu="1", memory="2Gi")})
    room = dataclasses.replace(node, own={**node.own, "headgroup": _amounts(cpu="1", memory="2Gi")})
    found = plan(CLUSTER, live, wanted, nodes=[room], queued=["can never fit"])
    assert found.blocked == ("can never fit", "no node has room for 1 pod of group small")
    same = changed(live, large, {"requests": {"cpu": "1", "memory": "1Gi"}})
    assert plan(CLUSTER, live, same, nodes=[room]).blocked == ()
    assert plan(CLUSTER, live, same, nodes=[Node(_amounts(cpu="0"))]).blocked != ()
    kept = changed(_sized(manifest()), "spec.upgradeStrategy", {"type": "None"})
    later = plan(CLUSTER, kept, changed(kept, large, {"requests": {"cpu": "1000"}}), nodes=[room], queued=["never"])
    assert (later.strongest, later.blocked) == (Effect.NEXT_PODS, ())
    assert _texts(later.after) == _texts(later.peak) == _texts(later.now) == {"cpu": "2", "memory": "4Gi", "pods": "2"}


def test_pods_of_an_earlier_template_count_as_what_they_are() -> None:
    live = _sized(manifest())
    shapes = shapes_of("RayCluster", live)
    grown = changed(live, "spec.workerGroupSpecs.0.template.spec.containers.0.resources", {"requests": {"cpu": "8"}})
    pods = [{**one.pod, "metadata": {"labels": {labels.GROUP: one.group}}} for one in shapes]
    found = plan(CLUSTER, grown, changed(grown, "spec.workerGroupSpecs.0.replicas", 2), pods=pods)
    assert [_texts(one)["cpu"] for one in (found.now, found.after, found.peak)] == ["2", "10", "10"]


def test_limits_and_counts_of_a_quota_count_too() -> None:
    live = changed(
        _sized(manifest()),
        "spec.workerGroupSpecs.0.template.spec.containers.0.resources",
        {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    )
    wanted = changed(live, "spec.workerGroupSpecs.0.replicas", 3)
    hard = {"limits.cpu": quantity.parse(3), "count/pods": quantity.parse(3), "pods": quantity.parse(9)}
    used = {"limits.cpu": quantity.parse(2), "count/pods": quantity.parse(2)}
    assert plan(CLUSTER, live, wanted, budgets=[Budget("q", hard, used)]).blocked == (
        "q: needs 4 limits.cpu, has 1",
        "q: needs 2 count/pods, has 1",
    )


@pytest.mark.parametrize(
    ("scopes", "counts"),
    [
        ({"scopes": ["NotTerminating"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["BestEffort"]}, False),
        (_of_priority("In", "high"), True),
        (_of_priority("In", "low"), False),
        (_of_priority("DoesNotExist"), False),
    ],
)
def test_a_quota_with_scopes_counts_the_pods_in_them(scopes: Object, counts: bool) -> None:
    live = changed(_sized(manifest()), "spec.workerGroupSpecs.0.template.spec.priorityClassName", "high")
    budget = Budget("q", {"pods": quantity.parse(1)}, {"pods": quantity.parse(1)}, selectors(scopes))
    wanted = changed(live, "spec.workerGroupSpecs.0.replicas", 2)
    assert bool(plan(CLUSTER, live, wanted, budgets=[budget]).blocked) is counts


def test_a_node_that_may_not_take_a_pod_is_no_room() -> None:
    body = changed(_sized(manifest()), "spec.workerGroupSpecs.0.template.spec.nodeSelector", {"pool": "ray"})
    amounts = _amounts(cpu="9", memory="99Gi")
    full = ("no node has room for 1 pod of group small",)
    assert plan(CLUSTER, None, body, nodes=[Node(amounts)]).blocked == full
    ours = Node(amounts, "a", {"pool": "ray"})
    assert plan(CLUSTER, None, body, nodes=[ours]).blocked == ()
    tainted = dataclasses.replace(ours, taints=({"key": "k", "value": "v", "effect": "NoSchedule"},))
    assert plan(CLUSTER, None, body, nodes=[tainted, Node(amounts)]).blocked == full
    tolerating = changed(body, "spec.workerGroupSpecs.0.template.spec.tolerations", [{"operator": "Exists"}])
    assert plan(CLUSTER, None, tolerating, nodes=[tainted, Node(amounts)]).blocked == ()


def test_what_its_queue_says_counts_where_pods_are_to_come() -> None:
    live = _sized(manifest())
    queued = ["waits for quota: ClusterQueue team"]
    grown = changed(live, "spec.workerGroupSpecs.0.replicas", 3)
    assert plan(CLUSTER, live, grown, queued=queued).blocked == tuple(queued)
    assert plan(CLUSTER, live, changed(live, "spec.suspend", True), queued=queued).blocked == ()


def test_a_refused_edit_changes_nothing() -> None:
    live = _sized(manifest())
    found = plan(CLUSTER, live, changed(live, "spec.workerGroupSpecs.0.minReplicas", 9))
    assert found.strongest is Effect.REFUSED
    assert _texts(found.after) == _texts(found.now) == _texts(found.peak)


def test_suspension() -> None:
    live = _sized(manifest())
    found = plan(CLUSTER, live, changed(live, "spec.suspend", True))
    assert (found.after, found.approval) == ({}, ("Suspend: spec.suspend",))


def test_kuberays_rules() -> None:
    live = _sized(service_manifest(), "spec.rayClusterConfig")
    wanted = changed(live, "spec.rayClusterConfig.workerGroupSpecs.0.maxReplicas", 9)
    assert plan(SERVICE, live, wanted).strongest is Effect.IN_PLACE
    assert plan(SERVICE, live, wanted, rules=Rules.KUBERAY_1_6).strongest is Effect.NEXT_CLUSTER


def test_a_saved_plan_is_refused_once_its_object_has_moved() -> None:
    live = _sized(manifest())
    saved = json.loads(json.dumps(plan(CLUSTER, live, changed(live, "spec.rayVersion", "2.61.0")).document()))
    check_base(saved, live)
    check_base(saved, changed(live, "metadata.resourceVersion", "9"))
    with pytest.raises(Conflict, match="has changed since"):
        check_base(saved, changed(live, "metadata.generation", 4))
    with pytest.raises(Conflict):
        check_base(saved, None)
    with pytest.raises(Invalid):
        check_base({"kind": "RayCluster"}, live)


def test_the_document_is_stable() -> None:
    live = _sized(manifest())
    document = plan(CLUSTER, live, changed(live, "spec.workerGroupSpecs.0.replicas", 2)).document()
    del document["wanted"]
    assert document == {
        "apiVersion": "cli.rayward/v1",
        "kind": "Plan",
        "object": {"kind": "RayCluster", "name": "c", "namespace": "default"},
        "action": "update",
        "rules": "rayward",
        "effect": "Scale",
        "changes": [
            {
                "path": "spec.workerGroupSpecs[small].replicas",
                "effect": "Scale",
                "why": "the group has 2 pods instead of 1",
                "old": 1,
                "new": 2,
                "restarts": [],
            }
        ],
        "restarts": [],
        "resources": {
            "now": {"cpu": "2", "memory": "4Gi", "pods": "2"},
            "after": {"cpu": "3", "memory": "6Gi", "pods": "3"},
            "peak": {"cpu": "3", "memory": "6Gi", "pods": "3"},
        },
        "blocked": [],
        "unknown": [],
        "downtime": "none for pods that stay",
        "approval": [],
        "base": {"uid": "u", "generation": 3},
        "forceConflicts": False,
    }


def test_a_manifest_of_2000_lines_is_planned_at_once() -> None:
    """No duration is asserted; the number is shown by ``make bench``. Here only that its work does not explode."""
    live = _sized(manifest())
    group = live["spec"]["workerGroupSpecs"][0]
    env = [{"name": f"V{number}", "value": "x"} for number in range(20)]
    big = changed(group, "template.spec.containers.0.env", env)
    groups = [{**big, "groupName": f"g{number}"} for number in range(45)]
    live = changed(live, "spec.workerGroupSpecs", groups)
    wanted = changed(live, "spec.workerGroupSpecs.7.replicas", 2)
    started = time.process_time()
    found = plan(CLUSTER, live, wanted)
    print(f"planned in {(time.process_time() - started) * 1000:.0f} ms of CPU")
    assert [change.path for change in found.changes] == ["spec.workerGroupSpecs[g7].replicas"]
