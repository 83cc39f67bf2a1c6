"""What is wrong with a RayService."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from rayward.kinds import labels, names
from rayward.kinds.durations import duration
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.rayservice import RayService, RayServiceSpec
from rayward.kinds.serveconfig import ServeConfig, ServeConfigError, parse
from rayward.kinds.serveconfig.finding import Finding
from rayward.kinds.validation import template
from rayward.kinds.validation.cluster import (
    label_problems,
    label_warnings,
    name_problems,
    spec_problems,
    spec_warnings,
)
from rayward.kinds.validation.fit import fit_problems, fit_warnings
from rayward.kinds.validation.problem import Problem
from rayward.kinds.validation.unread import unread_annotations, unread_of_config, unread_of_service

CONFIG_MAX: Final = 120_000
"""Of a RayCluster's annotations, which hold it twice."""
_ANNOTATIONS_MAX: Final = 256 * 1024
"""What Kubernetes lets all annotations of an object have together."""
_OURS: Final = 8_192
"""What is left for the operator's own."""

CONFIG_PATHS: Final = ("spec.serveConfigV2", "spec.serveDeploymentGraphSpec")
"""Where a service's config may be."""
_CLUSTER: Final = "spec.rayClusterConfig"
_STRATEGIES: Final = ("NewCluster", "None")
_INCREMENTAL: Final = "NewClusterWithIncrementalUpgrade"
_YES_OR_NO: Final = ("", "true", "false")
_DURATIONS: Final = (
    labels.INITIALIZING_TIMEOUT,
    labels.PROGRESS_DEADLINE,
    labels.DRAIN_TIMEOUT,
    labels.SCHEDULING_TIMEOUT,
    labels.REPLICA_START_TIMEOUT,
    labels.QUEUE_TIMEOUT,
)


def service_problems(service: RayService) -> list[Problem]:
    """Why the service cannot be acted upon; empty when it can."""
    spec = service.spec
    return [
        *name_problems("RayService", service.metadata.name, names.SERVICE_MAX),
        *_annotation_problems(service),
        *label_problems(service.metadata.labels or {}),
        *_strategy_problems(spec),
        *_number_problems(spec),
        *spec_problems(spec.ray_cluster_config, service.metadata.annotations or {}, _CLUSTER),
        *_nested_problems(spec),
        *_endpoint_problems(spec),
        *_config_problems(service),
    ]


def service_warnings(service: RayService) -> list[Problem]:
    """What works otherwise than its author may think."""
    spec = service.spec
    annotations = service.metadata.annotations or {}
    found = [
        *label_warnings(service.metadata.labels or {}),
        *unread_annotations(annotations),
        *spec_warnings(spec.ray_cluster_config, _CLUSTER),
        *unread_of_service(spec, annotations, _CLUSTER),
    ]
    if spec.service_unhealthy_second_threshold is not None:
        message = (
            "it has no effect: delete it; deploymentUnhealthySecondThreshold says when an application is redeployed"
        )
        found.append(Problem("spec.serviceUnhealthySecondThreshold", "Invalid", message))
    options = spec.ray_cluster_config.gcs_fault_tolerance_options
    shared = "the RayCluster of every new release would read the state of the one that serves: delete it"
    if options is not None and options.external_storage_namespace:
        found.append(Problem(f"{_CLUSTER}.gcsFaultToleranceOptions.externalStorageNamespace", "Invalid", shared))
    if options is not None and options.storage is not None and options.storage.claim_name:
        found.append(Problem(f"{_CLUSTER}.gcsFaultToleranceOptions.storage.claimName", "Invalid", shared))
    if service.metadata.annotation(labels.EXTERNAL_STORAGE_NAMESPACE):
        found.append(Problem("metadata.annotations", "Invalid", f"{labels.EXTERNAL_STORAGE_NAMESPACE}: {shared}"))
    alone = spec.deployment_unhealthy_second_threshold is None
    if spec.deployment_unhealthy_restart_threshold is not None and alone:
        message = "it has no effect without deploymentUnhealthySecondThreshold: write both, or neither"
        found.append(Problem("spec.deploymentUnhealthyRestartThreshold", "Invalid", message))
    if _has_config(spec) and not isinstance(spec.serve_config_v2, str):
        message = "Go clients cannot read an object here: write it as YAML in a string, as rayward apply does"
        found.append(Problem("spec.serveConfigV2", "Invalid", message))
    try:
        config = serve_config(spec)
    except ServeConfigError:
        return found
    warnings = (
        *config.warnings,
        *fit_warnings(config, spec.ray_cluster_config),
        *unread_of_config(config, spec),
    )
    return found + [Problem(_config_path(spec), "Invalid", str(warning)) for warning in warnings]


def config_problems(config: ServeConfig, service: RayService) -> Iterator[Finding]:
    """What is wrong with a config that Ray would take: this cluster cannot run it, or the operator cannot keep it."""
    yield from fit_problems(config, service.spec.ray_cluster_config)
    size, others = len(msgspec.json.encode(config.payload)), _copied_annotations(service)
    most = min(CONFIG_MAX, max((_ANNOTATIONS_MAX - _OURS - others) // 2, 0))
    if size > most:
        beside = f" beside {others} bytes of the RayService's own annotations" if most < CONFIG_MAX else ""
        advice = "move large values into the image or a ConfigMap"
        yield Finding(
            f"the config has {size} bytes as JSON and the limit is {most}, because annotations of the "
            f"RayCluster hold it twice{beside}: {advice}{', or remove annotations' if beside else ''}",
            line=1,
            column=1,
        )


def _copied_annotations(service: RayService) -> int:
    """The bytes of those that its RayClusters get."""
    found = (service.metadata.annotations or {}).items()
    return sum(len(name) + len(text.encode()) for name, text in found if name not in labels.NOT_COPIED)


def serve_config(spec: RayServiceSpec) -> ServeConfig:
    """What the service serves, from whichever field says it.

    Raises:
        ServeConfigError: It cannot be deployed.
    """
    given = spec.serve_config_v2 if _has_config(spec) else spec.serve_deployment_graph_spec
    return parse(given, spec.ray_cluster_config.ray_version)


def _has_config(spec: RayServiceSpec) -> bool:
    return spec.serve_config_v2 is not None and spec.serve_config_v2 != ""


def _config_path(spec: RayServiceSpec) -> str:
    is_graph = not _has_config(spec) and spec.serve_deployment_graph_spec is not None
    return CONFIG_PATHS[is_graph]


def _config_problems(service: RayService) -> Iterator[Problem]:
    spec = service.spec
    if _has_config(spec) and spec.serve_deployment_graph_spec is not None:
        message = "serveConfigV2 says the same and both are set: delete one"
        yield Problem("spec.serveDeploymentGraphSpec", "Forbidden", message)
    try:
        config = serve_config(spec)
    except ServeConfigError as error:
        for finding in error.findings:
            yield Problem(_config_path(spec), "Invalid", str(finding))
        return
    for finding in config_problems(config, service):
        yield Problem(_config_path(spec), "Invalid", str(finding))


def _annotation_problems(service: RayService) -> Iterator[Problem]:
    for name in _DURATIONS:
        value = service.metadata.annotation(name)
        if value and duration(value) is None:
            message = f"{name} is {value[:64]!r}: write a time such as 5m or 1h30m, or a number of seconds"
            yield Problem("metadata.annotations", "Invalid", message)
    for name, value in ((labels.PAUSE, "true"), (labels.WAIT_FOR_WORKERS, "false")):
        given = service.metadata.annotation(name)
        if given not in _YES_OR_NO:
            message = f"{name} is {given[:64]!r}: write {value}, or remove it"
            yield Problem("metadata.annotations", "Invalid", message)


def _strategy_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    strategy = spec.upgrade_strategy
    if strategy is None or strategy.type is None or strategy.type in _STRATEGIES:
        return
    at = "spec.upgradeStrategy.type"
    if strategy.type == _INCREMENTAL:
        message = "Rayward switches all requests at once and loses none: write NewCluster, or delete upgradeStrategy"
        yield Problem(at, "FeatureNotAvailable", message)
    else:
        yield Problem(at, "Invalid", f"{strategy.type!r} is not a strategy: write NewCluster or None")


def _number_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    for field, value in (
        ("rayClusterDeletionDelaySeconds", spec.ray_cluster_deletion_delay_seconds),
        ("deploymentUnhealthySecondThreshold", spec.deployment_unhealthy_second_threshold),
        ("deploymentUnhealthyRestartThreshold", spec.deployment_unhealthy_restart_threshold),
    ):
        if value is not None and value < 0:
            yield Problem(f"spec.{field}", "Invalid", f"{value} is less than 0: write 0 or more")


def _endpoint_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    """A service of whose pods none may take a request."""
    if not spec.exclude_head_pod_from_serve_svc:
        return
    # Workers that are parked for a while (replicas: 0) may come back.
    if not any(group.max_replicas != 0 for group in spec.ray_cluster_config.worker_group_specs or ()):
        message = "no worker group may have a worker, so no pod would take requests: delete it, or ask for workers"
        yield Problem("spec.excludeHeadPodFromServeSvc", "Invalid", message)


def _nested_problems(spec: RayServiceSpec) -> Iterator[Problem]:
    cluster = spec.ray_cluster_config
    if cluster.auth_options is not None and cluster.auth_options.enable_k8s_token_auth:
        message = "a RayService cannot use Kubernetes' tokens: delete it; mode: token makes a token of its own"
        yield Problem(f"{_CLUSTER}.authOptions.enableK8sTokenAuth", "Forbidden", message)
    if not is_managed_here(cluster.managed_by):
        message = "nobody would run the RayCluster: delete it; spec.managedBy of the service says who acts"
        yield Problem(f"{_CLUSTER}.managedBy", "Forbidden", message)
    if template.name_in(cluster.head_group_spec.head_service):
        message = "every cluster of the service needs a head service of its own: delete the name"
        yield Problem(f"{_CLUSTER}.headGroupSpec.headService.metadata.name", "Forbidden", message)
    if cluster.upgrade_strategy is not None and cluster.upgrade_strategy.type is not None:
        message = "what a change does is for spec.upgradeStrategy of the service to say: delete it here"
        yield Problem(f"{_CLUSTER}.upgradeStrategy", "Forbidden", message)
