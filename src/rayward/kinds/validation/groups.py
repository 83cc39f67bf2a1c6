"""Rules for the head's group and the worker groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rayward.kinds import labels, names, rayversion
from rayward.kinds.raycluster import HeadGroup, RayClusterSpec, WorkerGroup
from rayward.kinds.validation import template
from rayward.kinds.validation.problem import Problem
from rayward.kube.machinery import quantity
from rayward.kube.machinery.names import check_dns1123_label, check_label_value, check_qualified_name, subdomain_name

AUTOSCALER_V2_VARIABLE: Final = "RAY_enable_autoscaler_v2"

# More than any slice of accelerators has. A replica is made at once: without a bound one group would fill the memory.
_HOSTS_MAX: Final = 10_000
_SERVICE_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_RESOURCE_PARAMS: Final = ("num-cpus", "num-gpus", "memory", "resources")


def is_autoscaled(spec: RayClusterSpec) -> bool:
    """Whether Ray's autoscaler runs."""
    return bool(spec.enable_in_tree_autoscaling)


def has_version_2(spec: RayClusterSpec) -> bool:
    """Whether the spec itself asks for autoscaler v2."""
    return spec.autoscaler_options is not None and spec.autoscaler_options.version == "v2"


def head_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is wrong with the head's group."""
    yield from _common_problems(spec.head_group_spec, f"{at}.headGroupSpec", "ray-head")
    kind = spec.head_group_spec.service_type
    if kind and kind not in _SERVICE_TYPES:
        message = (
            f"{kind[:64]!r} is not a type of a Service: use {', '.join(_SERVICE_TYPES[:-1])} or {_SERVICE_TYPES[-1]}"
        )
        yield Problem(f"{at}.headGroupSpec.serviceType", "Invalid", message)


def worker_problems(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What is wrong with the worker groups."""
    groups = spec.worker_group_specs or []
    used = Counter(group.group_name for group in groups)
    seen: set[str] = set()
    for index, group in enumerate(groups):
        place = f"{at}.workerGroupSpecs[{index}]"
        yield from _name_problems(group.group_name, place, spec)
        if used[group.group_name] > 1 and group.group_name in seen:
            message = f"another group is named {group.group_name!r} too: give every group a name of its own"
            yield Problem(f"{place}.groupName", "Duplicate", message)
        seen.add(group.group_name)
        yield from _common_problems(group, place, "ray-worker")
        yield from _size_problems(group, place)
        yield from _autoscaling_problems(group, place, spec)


def _common_problems(group: HeadGroup | WorkerGroup, at: str, container: str) -> Iterator[Problem]:
    if not template.containers(group.template):
        example = f"containers: [{{name: {container}, image: rayproject/ray:2.60.0}}]"
        message = f"there is no container to run Ray in: write at least one, such as {example}"
        yield Problem(f"{at}.template.spec.containers", "Required", message)
    params = group.ray_start_params or {}
    if group.resources and group.ray_resources:
        message = "rayResources is another name of resources and both are set: keep resources and delete rayResources"
        yield Problem(f"{at}.rayResources", "Forbidden", message)
    given = [name for name in _RESOURCE_PARAMS if params.get(name)]
    if given and (group.resources or group.ray_resources):
        message = (
            f"{', '.join(given)} is given here and the group's resources are set too: "
            "keep one, best resources: {CPU: ..., GPU: ..., memory: ...}"
        )
        yield Problem(f"{at}.rayStartParams", "Forbidden", message)
    if "labels" in params:
        message = "labels cannot be given as a flag: write them into the group's own field labels"
        yield Problem(f"{at}.rayStartParams", "Forbidden", message)
    field = "resources" if group.resources else "rayResources"
    for name, amount in (group.resources or group.ray_resources or {}).items():
        try:
            quantity.parse(str(amount))
        except quantity.QuantityError:
            told = str(amount)[:64]
            message = f"{name} is {told!r}, which is not a quantity, so Ray ignores it: write for example 4 or 16Gi"
            yield Problem(f"{at}.{field}", "Invalid", message)
    for name, value in (group.labels or {}).items():
        for complaint in check_qualified_name(name):
            yield Problem(f"{at}.labels", "Invalid", f"{name!r} cannot be the key of a label: {complaint}")
        for complaint in check_label_value(value):
            yield Problem(f"{at}.labels", "Invalid", f"{value!r} cannot be the value of label {name!r}: {complaint}")


def _name_problems(name: str, at: str, spec: RayClusterSpec) -> Iterator[Problem]:
    if not name:
        yield Problem(f"{at}.groupName", "Required", "write a name for the group, such as small")
        return
    for complaint in check_label_value(name) or subdomain_name(names.pod_prefix("c", name), True):
        yield Problem(f"{at}.groupName", "Invalid", f"pods cannot be labelled and named with {name!r}: {complaint}")
    for complaint in check_dns1123_label(name) if spec.network_policy is not None else ():
        yield Problem(f"{at}.groupName", "Invalid", f"network policies cannot be named after {name!r}: {complaint}")
    if name == labels.HEAD_GROUP and is_autoscaled(spec):
        message = f"{name} is what the autoscaler calls the head: write another name"
        yield Problem(f"{at}.groupName", "Invalid", message)


def _size_problems(group: WorkerGroup, at: str) -> Iterator[Problem]:
    least, most = group.min_replicas, group.max_replicas
    for field, value in (("minReplicas", least), ("maxReplicas", most), ("numOfHosts", group.num_of_hosts)):
        if value is not None and value < 0:
            yield Problem(f"{at}.{field}", "Invalid", f"{value} is less than 0: write 0 or more")
    if (group.num_of_hosts or 0) > _HOSTS_MAX:
        message = f"one replica cannot have {group.num_of_hosts} pods: write {_HOSTS_MAX} or less, and more replicas"
        yield Problem(f"{at}.numOfHosts", "Invalid", message)
    if least is not None and most is not None and least > most:
        message = (
            f"minReplicas is {least} and maxReplicas is {most}: "
            f"lower minReplicas to {most}, or raise maxReplicas to {least}"
        )
        yield Problem(f"{at}.minReplicas", "Invalid", message)


def _autoscaling_problems(group: WorkerGroup, at: str, spec: RayClusterSpec) -> Iterator[Problem]:
    version_2 = has_version_2(spec) or _is_on(
        template.environment(spec.head_group_spec.template).get(AUTOSCALER_V2_VARIABLE)
    )
    idle = group.idle_timeout_seconds
    if idle is not None and idle < 0:
        yield Problem(f"{at}.idleTimeoutSeconds", "Invalid", f"{idle} is less than 0: write 0 or more")
    elif idle is not None and not version_2:
        yield Problem(f"{at}.idleTimeoutSeconds", "Forbidden", _needs_version_2("idleTimeoutSeconds"))
    if group.priority:
        if not rayversion.at_least(spec.ray_version, 2, 56):
            message = f"priority needs Ray 2.56 or later and rayVersion is {_shown(spec.ray_version)}: delete priority"
            yield Problem(f"{at}.priority", "Invalid", f"{message}, or write the rayVersion of a newer image")
        if not version_2:
            yield Problem(f"{at}.priority", "Forbidden", _needs_version_2("priority"))
    if not is_autoscaled(spec):
        return
    if group.suspend:
        message = "a group cannot be suspended while the autoscaler runs: delete suspend, or set maxReplicas: 0"
        yield Problem(f"{at}.suspend", "Forbidden", message)
    if has_version_2(spec) and template.restart_policy(group.template) not in ("", "Never"):
        message = "with autoscaler v2 pods are replaced, not restarted: delete restartPolicy or write Never"
        yield Problem(f"{at}.template.spec.restartPolicy", "Invalid", message)


def _needs_version_2(field: str) -> str:
    return f"{field} of a group needs autoscaler v2: write autoscalerOptions: {{version: v2}}, or delete {field}"


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def _shown(version: str) -> str:
    return repr(version) if version else "not set"
