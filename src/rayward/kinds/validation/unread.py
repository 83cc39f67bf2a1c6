"""What is written and does nothing, or not what it seems to: each gets a warning, for nothing may be silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayClusterSpec
from rayward.kinds.rayservice import RayServiceSpec
from rayward.kinds.serveconfig import ServeConfig
from rayward.kinds.serveconfig.finding import Finding, Path, written
from rayward.kinds.serveconfig.reading import read
from rayward.kinds.validation import template
from rayward.kinds.validation.problem import Problem
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

_KNOWN: Final = frozenset(
    value for value in vars(labels).values() if isinstance(value, str) and value.startswith(labels.PREFIX)
) - {labels.PREFIX, labels.PROVISIONER, labels.LOAD_BALANCER, labels.QUOTA_GATE}
_SERVE: Final = "serve"
_PORT: Final = 8000
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_SELECTOR: Final = "the operator sets the selector: delete it"


def unread_annotations(annotations: Mapping[str, str], at: str = "metadata.annotations") -> Iterator[Problem]:
    """Names under ``rayward.dev/`` that nobody reads, such as misspelt ones."""
    for name in sorted(annotations):
        if not name.startswith(labels.PREFIX) or name in _KNOWN:
            continue
        near = get_close_matches(name, sorted(_KNOWN), 1)
        advice = f"did you mean {near[0]}?" if near else "delete it"
        yield Problem(at, "Invalid", f"Rayward reads no {name[:128]}: {advice}")


def unread_of_cluster(spec: RayClusterSpec, at: str) -> Iterator[Problem]:
    """Fields of a cluster's spec without an effect."""
    head = spec.head_group_spec
    if head.ingress_options is not None and not head.enable_ingress:
        message = "it has no effect: write enableIngress: true beside it, or delete it"
        yield Problem(f"{at}.headGroupSpec.ingressOptions", "Invalid", message)
    if spec.auth_options is not None and spec.auth_options.secret_name and spec.auth_options.mode == "disabled":
        message = "it has no effect, for Ray asks nobody for a token: write mode: token, or delete it"
        yield Problem(f"{at}.authOptions.secretName", "Invalid", message)
    storage = spec.gcs_fault_tolerance_options.storage if spec.gcs_fault_tolerance_options is not None else None
    if storage is not None and storage.claim_name and storage.deletion_policy:
        message = "it has no effect, for a claim of your own always stays: delete it"
        yield Problem(f"{at}.gcsFaultToleranceOptions.storage.deletionPolicy", "Invalid", message)
    if _selects(head.head_service):
        yield Problem(f"{at}.headGroupSpec.headService.spec.selector", "Invalid", _SELECTOR)


def unread_of_service(spec: RayServiceSpec, annotations: Mapping[str, str], at: str) -> Iterator[Problem]:
    """Fields and annotations of a service without an effect; ``at`` is the path of its cluster's spec."""
    strategy = spec.upgrade_strategy
    if strategy is not None and strategy.cluster_upgrade_options:
        message = "Rayward switches all requests at once: delete it"
        yield Problem("spec.upgradeStrategy.clusterUpgradeOptions", "Invalid", message)
    if _selects(spec.serve_service):
        yield Problem("spec.serveService.spec.selector", "Invalid", _SELECTOR)
    named = (str(port.get("name")) for port in _ports(spec.ray_cluster_config))
    served = {name for name in named if name == _SERVE or name.startswith(f"{_SERVE}-")}
    for index, port in enumerate(_objects(_below(spec.serve_service, "spec").get("ports"))):
        if served and port.get("name") not in served:
            message = "the Service gets the ports of the head's container that are named serve or serve-..., not this"
            yield Problem(f"spec.serveService.spec.ports[{index}]", "Invalid", message)
    for index, group in enumerate(spec.ray_cluster_config.worker_group_specs or ()):
        if group.scale_strategy is not None and group.scale_strategy.workers_to_delete:
            message = "Pods are those of one RayCluster, and this is for every new one: delete it"
            yield Problem(f"{at}.workerGroupSpecs[{index}].scaleStrategy.workersToDelete", "Invalid", message)
    yield from _values(spec, annotations)


def unread_of_config(config: ServeConfig, spec: RayServiceSpec) -> Iterator[Finding]:
    """How requests come to Serve, where they do not."""
    for path, message in _unreached(config.payload, spec):
        line, column = read(config.text, may_be_program=False).place(path)
        yield Finding(message, written(path), line, column)


def _unreached(payload: Object, spec: RayServiceSpec) -> Iterator[tuple[Path, str]]:
    options, where = _below(payload, "http_options"), payload.get("proxy_location")
    serves = [port.get("containerPort") for port in _ports(spec.ray_cluster_config) if port.get("name") == _SERVE]
    port = options.get("port", _PORT)
    if serves and port not in serves:
        message = (
            f"Serve listens on port {port}, and the head's port named serve is {serves[0]}: write the same in both"
        )
        yield ("http_options", "port"), message
    if options.get("host") in _LOOPBACK:
        yield ("http_options", "host"), f"{options['host']} is reached from inside the pod alone: delete it"
    if where == "Disabled":
        yield ("proxy_location",), "no pod takes requests: delete it"
    if where == "HeadOnly" and spec.exclude_head_pod_from_serve_svc:
        yield ("proxy_location",), "no pod takes requests with excludeHeadPodFromServeSvc: delete one of the two"


def _values(spec: RayServiceSpec, annotations: Mapping[str, str]) -> Iterator[Problem]:
    given = annotations.get(labels.SERVE_CONFIG_UPGRADE, "")
    if given not in ("", "NewCluster", "InPlace"):
        yield _annotation(labels.SERVE_CONFIG_UPGRADE, given, "write NewCluster or InPlace, or remove it")
    rolling = annotations.get(labels.ROLLING_UPDATE, "")
    in_place = spec.upgrade_strategy is not None and spec.upgrade_strategy.type == "None"
    if rolling not in ("", "workers"):
        yield _annotation(labels.ROLLING_UPDATE, rolling, "write workers, or remove it")
    elif rolling and not in_place:
        yield _annotation(labels.ROLLING_UPDATE, rolling, "write upgradeStrategy.type: None beside it")


def _annotation(name: str, value: str, advice: str) -> Problem:
    return Problem("metadata.annotations", "Invalid", f"{name} is {value[:64]!r}, which does nothing: {advice}")


def _selects(service: Object | None) -> bool:
    return bool(_below(service, "spec").get("selector"))


def _ports(spec: RayClusterSpec) -> list[Object]:
    """Those of the head's container; without any it gets the usual ones."""
    containers = template.containers(spec.head_group_spec.template)
    found = _objects(containers[0].get("ports")) if containers else []
    return found or [{"name": _SERVE, "containerPort": _PORT}]


def _below(value: Any, name: str) -> Object:
    part = value.get(name) if is_object(value) else None
    return part if is_object(part) else {}


def _objects(value: Any) -> list[Object]:
    return [part for part in value if is_object(part)] if is_list(value) else []
