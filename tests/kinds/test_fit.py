"""Replicas that no node of the cluster can hold are refused before they take the old ones' place."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds.raycluster import HeadGroup, RayClusterSpec, WorkerGroup
from rayward.kinds.serveconfig import parse
from rayward.kinds.validation.fit import fit_problems, fit_warnings

_CONFIG = """\
applications:
- name: shop
  route_prefix: /
  import_path: shop:app
  deployments:
  - name: Shop
    num_replicas: {replicas}
    ray_actor_options: {{{options}}}
"""


def template(**limits: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "ray", "resources": {"limits": limits}}]}}


def spec(*, autoscaled: bool = False, **worker: Any) -> RayClusterSpec:
    fields: dict[str, Any] = {"group_name": "small", "replicas": 1, "template": template(cpu="3800m"), **worker}
    group = WorkerGroup(**fields)
    return RayClusterSpec(
        head_group_spec=HeadGroup(template=template(cpu="1")),
        worker_group_specs=[group],
        enable_in_tree_autoscaling=autoscaled,
    )


def problems(options: str, cluster: RayClusterSpec | None = None) -> list[str]:
    return list(map(str, fit_problems(parse(_CONFIG.format(replicas=1, options=options)), cluster or spec())))


def test_a_replica_larger_than_every_node_is_refused_with_its_place() -> None:
    (problem,) = problems("num_cpus: 16")
    assert problem == (
        "line 8, column 25: a replica of deployment Shop asks for 16 CPU and the largest node of rayClusterConfig has "
        "4 (worker group small): ask for less, or give that group more"
    )


@pytest.mark.parametrize("options", ["num_cpus: 4", "num_cpus: 0.1", "num_cpus: 0", "resources: {}", "num_gpus: 1"])
def test_what_may_fit_is_not_refused(options: str) -> None:
    assert problems(options) == []


def test_a_custom_resource_that_no_group_announces_is_refused() -> None:
    assert "asks for 1 blue" in problems("resources: {blue: 1}")[0]
    announced = spec(ray_start_params={"resources": "'{\"blue\": 2}'"})
    assert problems("resources: {blue: 1}", announced) == []
    assert "has 2" in problems("resources: {blue: 3}", announced)[0]


def test_a_node_whose_size_ray_finds_out_itself_is_not_judged() -> None:
    assert problems("num_cpus: 16", spec(template=template())) == []


def test_both_resources_have_to_be_on_one_node() -> None:
    cluster = spec(ray_start_params={"num-cpus": "2", "num-gpus": "1"})
    assert problems("num_cpus: 2, num_gpus: 1", cluster) == []
    assert problems("num_cpus: 3, num_gpus: 1", cluster) != []


def test_a_group_counts_at_the_size_that_its_autoscaler_may_give_it() -> None:
    empty: dict[str, Any] = {"replicas": 0, "min_replicas": 0, "max_replicas": 5}
    assert problems("num_cpus: 4", spec(autoscaled=True, **empty)) == []
    assert problems("num_cpus: 4", spec(**empty)) != []
    assert problems("num_cpus: 4", spec(replicas=1, suspend=True)) != []


_SCALED = """\
applications:
- name: small
  route_prefix: /small
  import_path: shop:app
  deployments: [{name: Small, num_replicas: 1, ray_actor_options: {num_cpus: 1}}]
- name: shop
  route_prefix: /
  import_path: shop:app
  deployments:
  - name: Shop
    ray_actor_options: {num_cpus: 1}
    autoscaling_config:
      max_replicas: 60
      min_replicas: 50
"""
_BUNDLES = """\
applications:
- name: shop
  route_prefix: /
  import_path: shop:app
  deployments:
  - name: Shop
    num_replicas: %d
    placement_group_strategy: %s
    placement_group_bundles:
    - {CPU: 1}
    - {CPU: %d}
"""


def test_a_bundle_larger_than_every_node_is_refused_with_its_place() -> None:
    (problem,) = map(str, fit_problems(parse(_BUNDLES % (1, "PACK", 16)), spec()))
    assert problem == (
        "line 11, column 7: a replica of deployment Shop asks for 16 CPU on one node and the largest node of "
        "rayClusterConfig has 4 (worker group small): ask for less, or give that group more"
    )


def test_bundles_may_be_on_several_nodes_unless_they_are_packed_strictly() -> None:
    assert list(fit_problems(parse(_BUNDLES % (1, "PACK", 4)), spec())) == []
    (problem,) = fit_problems(parse(_BUNDLES % (1, "STRICT_PACK", 4)), spec())
    assert "asks for 5 CPU on one node" in problem.message


def test_too_many_replicas_are_told_at_the_deployment_that_asks_for_most() -> None:
    (warning,) = map(str, fit_warnings(parse(_SCALED), spec()))
    assert warning.startswith("line 14, column 7: all replicas together ask for 51 CPU")
    (warning,) = map(str, fit_warnings(parse(_BUNDLES % (3, "PACK", 1)), spec()))
    assert warning.startswith("line 7, column 5: all replicas together ask for 6 CPU")


def test_more_replicas_than_fit_together_are_a_warning() -> None:
    many = parse(_CONFIG.format(replicas=9, options="num_cpus: 1"))
    assert [warning.message for warning in fit_warnings(many, spec())] == [
        "all replicas together ask for 9 CPU and the cluster at its largest has 5: some of them will not start"
    ]
    assert list(fit_warnings(many, spec(autoscaled=True, max_replicas=3))) == []
    assert list(fit_warnings(many, spec(template=template()))) == []
