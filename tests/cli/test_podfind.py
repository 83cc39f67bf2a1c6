"""Which pods, and which container, a user means."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.cli.catalogue import Kind
from rayward.cli.failure import CommandError
from rayward.cli.podfind import container_of, rank, selector_of
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.resource import CONFIG_MAPS, DEPLOYMENTS, JOBS, SERVICES, Resource


def _owner(spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("resource", "owner", "selector"),
    [
        (SERVICES, _owner({"selector": {"app": "web", "tier": "a"}}), "app=web,tier=a"),
        (DEPLOYMENTS, _owner({"selector": {"matchLabels": {"app": "web"}}}), "app=web"),
        (JOBS, _owner({"selector": {"matchLabels": {"job": "x"}}}), "job=x"),
        (RAY_CLUSTERS, _owner({}), "ray.io/cluster=x"),
        (RAY_SERVICES, _owner({}, activeServiceStatus={"rayClusterName": "x-abc"}), "ray.io/cluster=x-abc"),
        (RAY_SERVICES, _owner({}), ""),
        (CONFIG_MAPS, _owner({}), ""),
    ],
    ids=["service", "deployment", "job", "cluster", "ray service", "ray service without a cluster", "config map"],
)
def test_how_the_pods_of_an_object_are_found(resource: Resource, owner: dict[str, Any], selector: str) -> None:
    assert selector_of(Kind(resource, frozenset()), owner) == selector


def _pod(name: str, *, head: bool = False, ready: bool = False, born: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    labels = {"ray.io/node-type": "head" if head else "worker"}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "labels": labels, "creationTimestamp": born}
    return {"metadata": metadata, "status": {"conditions": conditions}}


def test_a_head_before_all_then_who_is_ready_then_who_is_old() -> None:
    pods = [
        _pod("young", ready=True, born="2026-01-02T00:00:00Z"),
        _pod("sick"),
        _pod("old", ready=True),
        _pod("head", head=True),
    ]
    assert [pod["metadata"]["name"] for pod in sorted(pods, key=rank)] == ["head", "old", "young", "sick"]


def _containers(*names: str, **annotations: str) -> dict[str, Any]:
    spec = {"containers": [{"name": name} for name in names], "initContainers": [{"name": "init"}]}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    ("pod", "asked", "meant"),
    [
        (_containers("a"), None, "a"),
        (_containers("a", "b"), None, "a"),
        (_containers("a", "b"), "b", "b"),
        (_containers("a", "b"), "init", "init"),
        (_containers("a", "b", **{"kubectl.kubernetes.io/default-container": "b"}), None, "b"),
    ],
    ids=["only", "first", "named", "init", "default"],
)
def test_which_container_is_meant(pod: dict[str, Any], asked: str | None, meant: str) -> None:
    assert container_of(pod, asked) == meant


def test_a_container_that_is_not_there() -> None:
    with pytest.raises(CommandError, match="no container z"):
        container_of(_containers("a"), "z")
