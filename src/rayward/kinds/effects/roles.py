"""What each field of a cluster's spec is for; from that and the rules follows what changing it does."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a field is for."""

    PODS = "pods"
    """Every pod is made from it."""
    HEAD = "head"
    """The head's pod is made from it."""
    WORKERS = "workers"
    """The pods of its worker group are made from it."""
    INJECTED = "injected"
    """Part of a template, written by admission queues: no reason for another release."""
    SIZE = "size"
    """How many pods a group has."""
    BOUND = "bound"
    """Between which sizes the autoscaler chooses."""
    VICTIMS = "victims"
    """Pods that the autoscaler wants gone."""
    HOSTS = "hosts"
    """How many pods one replica has."""
    GROUP_SUSPEND = "group suspend"
    SUSPEND = "suspend"
    STRATEGY = "strategy"
    """How changes are made; nothing is made from it."""
    OWNER = "owner"
    """Which controller acts on the object."""
    BACKEND = "backend"
    """Where the head's state lies; it cannot change."""
    SERVICE = "service"
    INGRESS = "ingress"
    NETWORK = "network"
    """A child beside the pods is made from it."""
    PACE = "pace"
    """The autoscaler reads it from the object itself."""
    AUTOSCALER = "autoscaler"
    """The autoscaler's container, in the head's pod, is made from it."""
    NAME = "name"
    """Which group an entry is."""
    MISSING = "missing"
    """A feature that Rayward does not have."""


FIELDS: Final[dict[str, Role]] = {
    "authOptions": Role.PODS,
    "autoscalerOptions": Role.AUTOSCALER,
    "autoscalerOptions.idleTimeoutSeconds": Role.PACE,
    "autoscalerOptions.upscalingMode": Role.PACE,
    "autoscalerOptions.version": Role.PODS,
    "enableInTreeAutoscaling": Role.PODS,
    "gcsFaultToleranceOptions": Role.HEAD,
    "gcsFaultToleranceOptions.backend": Role.BACKEND,
    "headGroupSpec.enableIngress": Role.INGRESS,
    "headGroupSpec.headService": Role.SERVICE,
    "headGroupSpec.headService.metadata.name": Role.PODS,
    "headGroupSpec.ingressOptions": Role.INGRESS,
    "headGroupSpec.labels": Role.HEAD,
    "headGroupSpec.rayResources": Role.HEAD,
    "headGroupSpec.rayStartParams": Role.HEAD,
    "headGroupSpec.rayStartParams.port": Role.PODS,
    "headGroupSpec.resources": Role.HEAD,
    "headGroupSpec.serviceType": Role.SERVICE,
    "headGroupSpec.template": Role.HEAD,
    "headGroupSpec.template.spec.schedulingGates": Role.INJECTED,
    "headGroupSpec.template.spec.tolerations": Role.INJECTED,
    "headServiceAnnotations": Role.SERVICE,
    "historyServerOptions": Role.MISSING,
    "managedBy": Role.OWNER,
    "networkPolicy": Role.NETWORK,
    "rayVersion": Role.PODS,
    "suspend": Role.SUSPEND,
    "tlsOptions": Role.MISSING,
    "upgradeStrategy": Role.STRATEGY,
    "workerGroupSpecs[].groupName": Role.NAME,
    "workerGroupSpecs[].idleTimeoutSeconds": Role.PACE,
    "workerGroupSpecs[].labels": Role.WORKERS,
    "workerGroupSpecs[].maxReplicas": Role.BOUND,
    "workerGroupSpecs[].minReplicas": Role.BOUND,
    "workerGroupSpecs[].numOfHosts": Role.HOSTS,
    "workerGroupSpecs[].priority": Role.PACE,
    "workerGroupSpecs[].rayResources": Role.WORKERS,
    "workerGroupSpecs[].rayStartParams": Role.WORKERS,
    "workerGroupSpecs[].replicas": Role.SIZE,
    "workerGroupSpecs[].resources": Role.WORKERS,
    "workerGroupSpecs[].scaleStrategy": Role.VICTIMS,
    "workerGroupSpecs[].suspend": Role.GROUP_SUSPEND,
    "workerGroupSpecs[].template": Role.WORKERS,
    "workerGroupSpecs[].template.spec.schedulingGates": Role.INJECTED,
    "workerGroupSpecs[].template.spec.tolerations": Role.INJECTED,
}
"""Paths below a cluster's spec; a field that is not listed has the role of the nearest one above it."""

_OUTSIDE_KUBERAY: Final = frozenset({Role.INJECTED, Role.SIZE, Role.BOUND, Role.VICTIMS, Role.SUSPEND, Role.STRATEGY})
_OUTSIDE_RAYWARD: Final = _OUTSIDE_KUBERAY | {Role.GROUP_SUSPEND}

UNKNOWN_TO_1_6: Final = (
    "autoscalerOptions.args",
    "autoscalerOptions.command",
    "gcsFaultToleranceOptions.backend",
    "gcsFaultToleranceOptions.storage",
    "headGroupSpec.ingressOptions",
    "historyServerOptions",
    "networkPolicy",
    "tlsOptions",
    "workerGroupSpecs[].priority",
)
"""Fields that KubeRay's definitions have since 1.7: read by hand from its types at v1.7.0, which the Go proxy lacks."""
UNKNOWN_TO_KUBERAY: Final = ("headGroupSpec.rayResources", "workerGroupSpecs[].rayResources")


def role_of(pattern: str) -> Role | None:
    """The role of a field below a cluster's spec; None for one that is in no definition."""
    at = pattern
    while at:
        if at in FIELDS:
            return FIELDS[at]
        at = at[:-2] if at.endswith("[]") else at.rpartition(".")[0]
    return None


def is_below(pattern: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a field is one of these, or part of one."""
    return any(pattern == prefix or pattern.startswith((f"{prefix}.", f"{prefix}[")) for prefix in prefixes)


def outside_release(*, is_kuberay: bool) -> frozenset[Role]:
    """Changing these never asks for another cluster; they are what the operator's hash leaves out."""
    return _OUTSIDE_KUBERAY if is_kuberay else _OUTSIDE_RAYWARD
