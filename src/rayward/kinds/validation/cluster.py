"""What is wrong with a RayCluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.validation import template
from rayward.kinds.validation.faulttolerance import fault_tolerance_problems
from rayward.kinds.validation.groups import head_problems, is_autoscaled, worker_problems
from rayward.kinds.validation.images import image_warnings
from rayward.kinds.validation.options import (
    authentication_problems,
    autoscaler_problems,
    feature_problems,
    network_problems,
)
from rayward.kinds.validation.problem import Problem
from rayward.kinds.validation.unread import unread_annotations, unread_of_cluster
from rayward.kube.machinery.digits import parse_digits
from rayward.kube.machinery.names import check_dns1035_label

_STRATEGIES: Final = ("Recreate", "None")
_OWNERS: Final = ("RayService", "RayJob")
_HIGHEST_PORT: Final = 65535
_GANG_LABEL: Final = "ray.io/gang-scheduling-enabled"
_QUEUE_LABELS: Final = ("volcano.sh/queue-name", "yunikorn.apache.org/queue", "kai.scheduler/queue")


def cluster_problems(cluster: RayCluster) -> list[Problem]:
    """Why the cluster cannot be acted upon; empty when it can."""
    return [
        *name_problems("RayCluster", cluster.metadata.name, names.CLUSTER_MAX),
        *_strategy_problems(cluster),
        *label_problems(cluster.metadata.labels or {}),
        *spec_problems(cluster.spec, cluster.metadata.annotations or {}, "spec"),
    ]


def cluster_warnings(cluster: RayCluster) -> list[Problem]:
    """What works otherwise than its author may think."""
    return [
        *label_warnings(cluster.metadata.labels or {}),
        *_annotation_warnings(cluster),
        *spec_warnings(cluster.spec, "spec"),
    ]


def name_problems(kind: str, name: str, limit: int) -> Iterator[Problem]:
    """What is wrong with an object's name."""
    if len(name) > limit:
        message = (
            f"the name of a {kind} has at most {limit} characters and this one has {len(name)}, because names of "
            "services and pods are made from it: write a shorter one"
        )
        yield Problem("metadata.name", "Invalid", message)
    for complaint in check_dns1035_label(name[:limit].rstrip("-") if len(name) > limit else name):
        yield Problem("metadata.name", "Invalid", f"the name becomes part of service names: {complaint}")


def spec_problems(spec: RayClusterSpec, annotations: Mapping[str, str], at: str) -> Iterator[Problem]:
    """What is wrong with a cluster's spec, wherever it is embedded."""
    yield from head_problems(spec, at)
    yield from worker_problems(spec, at)
    yield from fault_tolerance_problems(spec, annotations, at)
    yield from autoscaler_problems(spec, at)
    yield from authentication_problems(spec, at)
    yield from network_problems(spec, at)
    yield from feature_problems(spec, at)


def spec_warnings(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """What of a cluster's spec has another effect than it seems."""
    if spec.auth_options is not None and not spec.auth_options.mode:
        message = "without a mode Ray asks nobody for a token: write mode: token, or mode: disabled"
        yield Problem(f"{at}.authOptions.mode", "Invalid", message)
    if spec.autoscaler_options is not None and not is_autoscaled(spec):
        message = "it has no effect: write enableInTreeAutoscaling: true beside it, or delete it"
        yield Problem(f"{at}.autoscalerOptions", "Invalid", message)
    yield from unread_of_cluster(spec, at)
    yield from image_warnings(spec, at)
    dashboard = (spec.head_group_spec.ray_start_params or {}).get("dashboard-port")
    if dashboard is not None and not parse_digits(dashboard, _HIGHEST_PORT):
        message = f"{dashboard[:64]!r} is not a port, so the dashboard cannot be found: write a number from 1 to 65535"
        yield Problem(f"{at}.headGroupSpec.rayStartParams.dashboard-port", "Invalid", message)
    version = spec.autoscaler_options.version if spec.autoscaler_options is not None else None
    for index, group in enumerate(spec.worker_group_specs or ()):
        place = f"{at}.workerGroupSpecs[{index}]"
        if is_autoscaled(spec) and version == "v1" and template.restart_policy(group.template) != "Never":
            message = "autoscaler v1 loses track of restarted workers: write restartPolicy: Never"
            yield Problem(f"{place}.template.spec.restartPolicy", "Invalid", message)
        if group.num_of_hosts == 0:
            yield Problem(f"{place}.numOfHosts", "Invalid", "a replica has at least one pod: write 1 or more")
        replicas, least, most = group.replicas, group.min_replicas, group.max_replicas
        if replicas is not None and most is not None and replicas > most:
            message = f"replicas is {replicas} and maxReplicas {most}: {most} are made; raise maxReplicas for more"
            yield Problem(f"{place}.replicas", "Invalid", message)
        if replicas and least is not None and replicas < least:
            message = f"replicas is {replicas} and minReplicas {least}: {least} are made; lower minReplicas for fewer"
            yield Problem(f"{place}.replicas", "Invalid", message)


def label_problems(given: Mapping[str, str]) -> Iterator[Problem]:
    """Labels that ask for what is not there."""
    if given.get(_GANG_LABEL) == "true":
        message = (
            f"Rayward makes no pod groups for gang scheduling: delete the label {_GANG_LABEL}; "
            "a scheduler of your own is chosen by schedulerName in the templates"
        )
        yield Problem("metadata.labels", "FeatureNotAvailable", message)


def label_warnings(given: Mapping[str, str]) -> Iterator[Problem]:
    """Labels for batch schedulers, which this operator passes on to nobody."""
    for label in _QUEUE_LABELS:
        if label in given:
            message = f"{label} is not passed on to pods: write it, and schedulerName, into the templates"
            yield Problem("metadata.labels", "FeatureNotAvailable", message)


def _annotation_warnings(cluster: RayCluster) -> Iterator[Problem]:
    if not cluster.metadata.label(labels.ORIGIN_KIND):
        # Those of an owner are told there.
        yield from unread_annotations(cluster.metadata.annotations or {})
    rolling = cluster.metadata.annotation(labels.ROLLING_UPDATE)
    if rolling not in ("", "workers"):
        message = f"{labels.ROLLING_UPDATE} is {rolling[:64]!r}, which does nothing: write workers, or remove it"
        yield Problem("metadata.annotations", "Invalid", message)


def _strategy_problems(cluster: RayCluster) -> Iterator[Problem]:
    strategy = cluster.spec.upgrade_strategy
    if strategy is None or strategy.type is None:
        return
    if strategy.type not in _STRATEGIES:
        message = f"{strategy.type!r} is not a strategy: write Recreate or None"
        yield Problem("spec.upgradeStrategy.type", "Invalid", message)
    owner = cluster.metadata.label(labels.ORIGIN_KIND)
    if owner in _OWNERS:
        message = f"this cluster belongs to a {owner}, which decides what a change does: delete upgradeStrategy"
        yield Problem("spec.upgradeStrategy.type", "Forbidden", message)
