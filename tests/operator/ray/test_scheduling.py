"""Replicas that no Ray node has room for."""

from __future__ import annotations

from rayward.operator.ray.answers import (
    ActorOptions,
    Application,
    Deployment,
    DeploymentConfig,
    Node,
    Replica,
    Serve,
)
from rayward.operator.ray.scheduling import is_waiting, unschedulable, without_room

_NODES = [
    Node("head", state="ALIVE", resources_total={"CPU": 1.0}),
    Node("worker", state="ALIVE", resources_total={"CPU": 3.8, "GPU": 1.0}),
    Node("dead", state="DEAD", resources_total={"CPU": 64.0}),
]


def deployment(*replicas: Replica, cpus: float = 1.0, gpus: float | None = None) -> Deployment:
    config = DeploymentConfig(ActorOptions(num_cpus=cpus, num_gpus=gpus))
    return Deployment("UPDATING", target_num_replicas=1, deployment_config=config, replicas=replicas)


def serve(**deployments: Deployment) -> Serve:
    return Serve({name: Application("DEPLOYING", deployments={"D": found}) for name, found in deployments.items()})


_WAITS = Replica(state="STARTING")
_RUNS = Replica(state="RUNNING", node_id="worker")


def test_a_replica_that_fits_on_no_node_is_told_with_what_is_free() -> None:
    found = serve(app=deployment(_WAITS, cpus=16))
    assert is_waiting(found)
    assert unschedulable(found, _NODES) == {
        "app": "no Ray node has room for a replica of deployment D: "
        "it needs 16 CPU and at most 3.8 are free on one node"
    }


def test_what_other_replicas_hold_is_not_free() -> None:
    beside = deployment(_RUNS, cpus=3)
    assert "at most 1 are free" in unschedulable(serve(app=deployment(_WAITS, cpus=2), other=beside), _NODES)["app"]
    assert unschedulable(serve(app=deployment(_WAITS, cpus=1), other=beside), _NODES) == {}


def test_a_replica_that_stops_frees_its_place() -> None:
    stopping = deployment(_WAITS, Replica(state="STOPPING", node_id="worker"), cpus=3.8)
    assert unschedulable(serve(app=stopping), _NODES) == {}


def test_a_deployment_that_still_answers_is_no_outage() -> None:
    found = serve(app=deployment(_RUNS, _WAITS, cpus=16))
    assert not is_waiting(found)
    assert unschedulable(found, _NODES) == {}


def test_another_replica_without_room_is_told_of_a_deployment_that_answers_too() -> None:
    found = serve(app=deployment(_RUNS, _WAITS, cpus=2), other=deployment(_RUNS, _WAITS, cpus=0.1))
    assert is_waiting(found, frozenset({("app", "D")}))
    assert not is_waiting(found, frozenset({("app", "E")}))
    assert without_room(found, _NODES) == {("app", "D")}
    assert without_room(serve(app=deployment(_RUNS, cpus=16)), _NODES) == frozenset()
    assert without_room(found, []) == frozenset(), "nothing is known of nodes"


def test_a_replica_that_has_its_node_only_initializes() -> None:
    found = serve(app=deployment(Replica(state="STARTING", node_id="worker"), cpus=2))
    assert not is_waiting(found)
    assert unschedulable(found, _NODES) == {}


def test_all_of_it_has_to_be_free_on_one_node() -> None:
    nodes = [
        Node("a", state="ALIVE", resources_total={"CPU": 4.0}),
        Node("b", state="ALIVE", resources_total={"CPU": 1.0, "GPU": 1.0}),
    ]
    found = unschedulable(serve(app=deployment(_WAITS, cpus=2, gpus=1)), nodes)
    assert found["app"].endswith("no node has all of CPU, GPU free at once")
    assert unschedulable(serve(app=deployment(_WAITS)), []) == {}


def grouped(*bundles: dict[str, float], strategy: str = "PACK", replica: Replica = _WAITS) -> Serve:
    config = DeploymentConfig(ActorOptions(num_cpus=0.1), bundles, strategy)
    return serve(app=Deployment("UPDATING", target_num_replicas=1, deployment_config=config, replicas=(replica,)))


def test_each_bundle_of_a_placement_group_needs_a_node() -> None:
    assert "it needs 16 CPU" in unschedulable(grouped({"CPU": 1}, {"CPU": 16}), _NODES)["app"]
    assert unschedulable(grouped({"CPU": 1}, {"CPU": 3.8}), _NODES) == {}


def test_bundles_that_are_packed_strictly_need_one_node_together() -> None:
    bundles: tuple[dict[str, float], ...] = ({"CPU": 2}, {"CPU": 2})
    assert unschedulable(grouped(*bundles), _NODES) == {}
    assert "it needs 4 CPU" in unschedulable(grouped(*bundles, strategy="STRICT_PACK"), _NODES)["app"]


def test_a_replica_holds_the_first_bundle_on_its_node() -> None:
    held = grouped({"CPU": 3}, {"CPU": 1}, replica=_RUNS).applications["app"]
    found = Serve({"app": held, "next": serve(app=deployment(_WAITS, cpus=2)).applications["app"]})
    assert "at most 1 are free" in unschedulable(found, _NODES)["next"]
