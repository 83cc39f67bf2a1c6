"""Whether the replicas that a Serve config asks for fit into the cluster that it is deployed to.

Only what is written counts: a deployment whose resources stand in the code, or a node whose size Ray finds out itself,
is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from rayward.kinds.raycluster import HeadGroup, RayCluster, RayClusterSpec, WorkerGroup
from rayward.kinds.serveconfig import ServeConfig
from rayward.kinds.serveconfig.finding import Finding, Path, written
from rayward.kinds.serveconfig.reading import read
from rayward.kinds.shapes import desired_workers, max_workers
from rayward.kinds.shapes.startcommand import announced_resources, head_params, worker_params
from rayward.kinds.validation import template
from rayward.kube.machinery.jsonvalue import Object, entries, is_list, is_object, section

_FIELDS: Final = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
_OPTIONS: Final = "ray_actor_options"
_BUNDLES: Final = "placement_group_bundles"
_FOUND_BY_RAY: Final = ("GPU", "TPU", "neuron_cores")
_PREFIXES: Final = ("node:", "accelerator_type:")


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A kind of Ray node, and how many of it there can be; a resource that is None is for Ray to find out."""

    group: str
    most: int
    resources: Mapping[str, float | None]

    def has(self, name: str, amount: float) -> bool:
        """Whether one node may have so much."""
        if name not in self.resources:
            return name in _FOUND_BY_RAY or name.startswith(_PREFIXES)
        found = self.resources[name]
        return found is None or found >= amount


def node_shapes(spec: RayClusterSpec) -> tuple[NodeShape, ...]:
    """The head and the worker groups, at the largest size that the autoscaler, or the spec, gives them."""
    cluster = RayCluster(spec=spec)
    shapes = [NodeShape("the head", 1, _resources(spec.head_group_spec, head_params(cluster)))]
    for group in spec.worker_group_specs or ():
        most = max_workers(group) if spec.enable_in_tree_autoscaling else desired_workers(group)
        resources = _resources(group, worker_params(cluster, group))
        shapes.append(NodeShape(f"worker group {group.group_name}", most, resources))
    return tuple(shape for shape in shapes if shape.most > 0)


def fit_problems(config: ServeConfig, spec: RayClusterSpec) -> Iterator[Finding]:
    """Replicas that no node of the cluster can ever hold, each with its place in the config."""
    shapes = node_shapes(spec)
    for deployment, at in _deployments(config):
        for demand, place in _demands(deployment):
            if not demand or any(all(shape.has(*each) for each in demand.items()) for shape in shapes):
                continue
            name, amount = _worst(demand, shapes)
            largest = max((shape.resources.get(name) or 0.0, shape.group) for shape in shapes)
            what = f"a replica of deployment {deployment.get('name')} asks for {amount:g} {name}"
            what += " on one node" if place[0] != _OPTIONS else ""
            message = f"{what} and the largest node of rayClusterConfig has {largest[0]:g} ({largest[1]}): "
            field = (_field(name),) if place[0] == _OPTIONS else ()
            yield _finding(config, f"{message}ask for less, or give that group more", (*at, *place, *field))
            break


def fit_warnings(config: ServeConfig, spec: RayClusterSpec) -> Iterator[Finding]:
    """More replicas than the cluster can ever hold together: Ray runs as many as fit.

    Each is told at the deployment that asks for most of it.
    """
    shapes = node_shapes(spec)
    wanted: dict[str, list[tuple[float, Path]]] = {}
    for deployment, at in _deployments(config):
        count, field = _replicas(deployment)
        for demand, _ in _demands(deployment):
            for name, amount in demand.items():
                wanted.setdefault(name, []).append((amount * count, (*at, *field)))
    for name, parts in sorted(wanted.items()):
        amounts = [(shape.resources.get(name, 0.0), shape.most) for shape in shapes]
        if any(each is None for each, _ in amounts) or (name in _FOUND_BY_RAY and not any(each for each, _ in amounts)):
            continue
        total = sum((each or 0.0) * most for each, most in amounts)
        asked = sum(amount for amount, _ in parts)
        if total < asked:
            message = f"all replicas together ask for {asked:g} {name} and the cluster at its largest has {total:g}: "
            yield _finding(config, f"{message}some of them will not start", max(parts, key=lambda part: part[0])[1])


def _deployments(config: ServeConfig) -> Iterator[tuple[Object, Path]]:
    for app_index, app in enumerate(config.applications):
        for index, deployment in enumerate(entries(app, "deployments")):
            if is_object(deployment):
                yield deployment, ("applications", app_index, "deployments", index)


def _demands(deployment: Object) -> Iterator[tuple[dict[str, float], Path]]:
    """What one replica takes of each node that it is on, and where that is written."""
    bundles = deployment.get(_BUNDLES)
    if not (is_list(bundles) and bundles):
        yield _demand(section(deployment, _OPTIONS)), (_OPTIONS,)
        return
    needed = [_numbers(bundle) if is_object(bundle) else {} for bundle in bundles]
    if deployment.get("placement_group_strategy") == "STRICT_PACK":
        names = {name: None for bundle in needed for name in bundle}
        yield {name: sum(bundle.get(name, 0.0) for bundle in needed) for name in names}, (_BUNDLES,)
        return
    for index, bundle in enumerate(needed):
        yield bundle, (_BUNDLES, index)


def _replicas(deployment: Object) -> tuple[int, Path]:
    """The fewest replicas that there are to be, and where that is written."""
    count = deployment.get("num_replicas")
    if _is_number(count):
        return int(count), ("num_replicas",)
    scaled = deployment.get("autoscaling_config")
    least = scaled.get("min_replicas") if is_object(scaled) else None
    return (int(least), ("autoscaling_config", "min_replicas")) if _is_number(least) else (0, ())


def _finding(config: ServeConfig, message: str, at: Path) -> Finding:
    line, column = read(config.text, may_be_program=False).place(at)
    return Finding(message, written(at), line, column)


def _resources(group: HeadGroup | WorkerGroup, params: dict[str, str]) -> dict[str, float | None]:
    containers = template.containers(group.template)
    return announced_resources(params, section(containers[0], "resources") if containers else {})


def _demand(options: Object) -> dict[str, float]:
    return _numbers({name: options.get(field) for field, name in _FIELDS.items()} | section(options, "resources"))


def _numbers(given: Object) -> dict[str, float]:
    return {name: float(amount) for name, amount in given.items() if _is_number(amount) and amount > 0}


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _worst(demand: Mapping[str, float], shapes: tuple[NodeShape, ...]) -> tuple[str, float]:
    """The resource that no node has enough of; where each has one, the first."""
    for name, amount in demand.items():
        if not any(shape.has(name, amount) for shape in shapes):
            return name, amount
    return next(iter(demand.items()))


def _field(name: str) -> str:
    return next((field for field, known in _FIELDS.items() if known == name), "resources")
