"""Which pods take requests, which Services are to be, and what is recorded: all of it is in the decision."""

from __future__ import annotations

import dataclasses

import pytest

from rayward.kinds import labels
from rayward.operator.service.decide import decide
from rayward.operator.service.finalize import finalizers_left
from rayward.operator.service.serveconfig import deploy_key
from rayward.operator.service.state import ChildCluster, Decision, PodLabel, Policy, ServePod, State
from tests.operator.service.world import A, B, World, serving


def _state(world: World, policy: Policy | None = None, **clusters: object) -> State:
    """The world's, with fields of its cluster that serves, or of the state, as given."""
    state = world.state()
    ours = {each.name for each in dataclasses.fields(ChildCluster)}
    changes = {name: value for name, value in clusters.items() if name in ours}
    found = [
        dataclasses.replace(cluster, **changes) if cluster.name == world.serving else cluster
        for cluster in state.clusters
    ]
    rest = {name: value for name, value in clusters.items() if name not in ours}
    return dataclasses.replace(state, policy=policy or state.policy, clusters=tuple(found), **rest)


def _decided(state: State) -> Decision:
    return decide(state, World(A).now)


@pytest.mark.parametrize(
    ("pod", "no_heads", "label"),
    [
        (ServePod("p", label="false", is_head=True, leads=True), False, "true"),
        (ServePod("p", label="true", is_head=True, leads=False), False, "false"),
        (ServePod("p", label="true", is_head=True, leads=True), True, "false"),
        (ServePod("p", label="", is_head=True, leads=False), False, "false"),
        (ServePod("p", label="true", is_head=True, leads=True), False, None),
        (ServePod("p", label="false", leads=True), False, "true"),
        (ServePod("p", label="false", leads=True), True, "true"),
        (ServePod("p", label="true", leads=False), False, "false"),
        (ServePod("p", label="true", leads=None), False, None),
        (ServePod("p", label="false", leads=None), False, None),
    ],
)
def test_pods_of_the_cluster_that_serves_take_requests_while_they_lead_to_the_applications(
    pod: ServePod, no_heads: bool, label: str | None
) -> None:
    decision = _decided(_state(serving(), Policy(excludes_heads=no_heads), pods=(pod,)))
    assert decision.pod_labels == (() if label is None else (PodLabel("p", "", label),))


def test_a_worker_of_a_cluster_without_traffic_keeps_its_label() -> None:
    world = serving()
    world.edit(B)
    world.step()
    idle = next(name for name in world.clusters if name != world.serving)
    worker = ServePod("w", label="true", leads=False)
    world.clusters[idle] = dataclasses.replace(world.clusters[idle], pods=(worker,))
    assert _decided(world.state()).pod_labels == ()


@pytest.mark.parametrize(
    ("existing", "deleted"),
    [
        (("new",), ()),
        (("old",), ()),
        (("new", "old", "older"), ("old", "older")),
        ((), ()),
    ],
)
def test_a_service_of_a_former_name_goes_when_the_one_of_the_new_name_is_there(
    existing: tuple[str, ...], deleted: tuple[str, ...]
) -> None:
    state = _state(serving(), serve_service="new", serve_services=existing)
    assert _decided(state).delete_services == deleted
    nobody = dataclasses.replace(state, clusters=(), serving="")
    assert _decided(nobody).delete_services == (), "while nothing serves no Service of another name can be better"


def test_clusters_that_go_get_no_service() -> None:
    world = serving(policy=Policy(deletion_delay=Policy().deletion_delay * 0))
    world.edit(B)
    decision = decide(world.state(), world.now)
    for _ in range(60):
        if decision.delete:
            break
        world.step()
        decision = decide(world.state(), world.now)
    assert decision.delete
    assert set(decision.cluster_services) == set(world.clusters) - set(decision.delete)
    going = _state(serving(), deleting=True)
    assert _decided(going).cluster_services == ()


@pytest.mark.parametrize(
    ("asked", "before", "sent_for", "anew", "recorded"),
    [
        ("", "", "", False, False),
        ("monday", "", "", True, False),
        ("monday", "", "monday", True, True),
        ("monday", "monday", "monday", False, False),
        ("tuesday", "monday", "monday", True, False),
        ("tuesday", "monday", "tuesday", True, True),
    ],
)
def test_a_config_is_sent_again_for_each_restart_and_that_is_recorded_once(
    asked: str, before: str, sent_for: str, anew: bool, recorded: bool
) -> None:
    world = serving()
    sent = deploy_key(world.clusters[world.serving].config, 0, sent_for)
    decision = _decided(_state(world, Policy(restarted_at=asked), refreshed=before, deployed=sent))
    (target,) = decision.serve_configs
    assert (target.refresh, target.anew) == (asked, anew)
    assert decision.refreshed == ((world.serving,) if recorded else ())


@pytest.mark.parametrize(
    ("finalizers", "clusters", "left"),
    [
        (None, 0, None),
        (["other"], 0, None),
        ([labels.SERVICE_FINALIZER], 1, None),
        ([labels.SERVICE_FINALIZER], 0, []),
        (["other", labels.SERVICE_FINALIZER], 0, ["other"]),
    ],
)
def test_the_finalizer_of_kuberay_goes_after_the_last_cluster(
    finalizers: list[str] | None, clusters: int, left: list[str] | None
) -> None:
    assert finalizers_left(finalizers, clusters) == left
