"""``headGroupSpec`` and the entries of ``workerGroupSpecs``."""

from __future__ import annotations

from typing import Final

from tools.crds import builtin
from tools.crds.shape import (
    Object,
    boolean,
    described,
    int_or_text,
    integer,
    listing,
    mapping,
    rule,
    structure,
    text,
)

MAX_GROUPS: Final = 256
_LABEL_MAX: Final = 63
_INT32_MAX: Final = 2**31 - 1

_RESOURCE_PARAMS: Final = "['num-cpus', 'num-gpus', 'memory', 'resources']"


def head() -> Object:
    """The head's group."""
    return structure(
        {
            **_common("head"),
            "headService": described(builtin.core("Service"), "A service in place of the head's own, completed by it."),
            "enableIngress": boolean("Makes an ingress to the dashboard."),
            "ingressOptions": structure(
                {
                    "host": text("The host name that leads to the dashboard."),
                    "path": text("The path that leads to the dashboard; / if unset."),
                    "pathType": text("Prefix if unset.", enum=["Exact", "Prefix", "ImplementationSpecific"]),
                    "tls": listing(builtin.networking("IngressTLS")),
                },
                "How the ingress finds the dashboard.",
            ),
            "serviceType": text("The type of the head's service: ClusterIP if unset."),
        },
        "The head: the pod that runs Ray's control services.",
        required=("template",),
        rules=_common_rules("ray-head"),
    )


def worker() -> Object:
    """One group of equal workers."""
    return structure(
        {
            **_common("workers"),
            "groupName": text("The group's name, unique in the cluster.", maxLength=_LABEL_MAX),
            "replicas": integer("How many workers there are now; the autoscaler writes it too.", default=0),
            "minReplicas": integer("The fewest workers.", default=0, minimum=0),
            "maxReplicas": integer("The most workers.", default=_INT32_MAX, minimum=0),
            "numOfHosts": integer("How many pods one worker is made of.", default=1),
            "priority": integer("Which group the autoscaler prefers: the higher.", default=0),
            "idleTimeoutSeconds": integer("How long a worker may idle before autoscaler v2 removes it.", minimum=0),
            "suspend": boolean("Deletes the group's pods and makes no new ones."),
            "scaleStrategy": structure(
                {"workersToDelete": listing(text(), "Pods of this group that are to go first.")},
                "What the autoscaler wants gone.",
            ),
        },
        required=("groupName", "minReplicas", "maxReplicas", "template"),
        rules=(
            rule(
                "self.minReplicas <= self.maxReplicas",
                "minReplicas is greater than maxReplicas: lower minReplicas, or raise maxReplicas to at least it",
                at=".minReplicas",
            ),
            *_common_rules("ray-worker"),
        ),
    )


def _common(which: str) -> dict[str, Object]:
    return {
        "template": described(builtin.pod_template(), f"The pod of the {which}; its first container runs Ray."),
        "rayStartParams": mapping(text(), "Flags of `ray start`, without the leading dashes."),
        "resources": mapping(text(), "What Ray is told the pod has, such as CPU, GPU, memory or a name of your own."),
        # Documents write whole numbers here, and no text.
        "rayResources": mapping(int_or_text(), "Another name of resources; only one of both may be set."),
        "labels": mapping(text(), "Labels of the Ray node, and of its pod."),
    }


def _common_rules(container: str) -> tuple[Object, ...]:
    return (
        rule(
            "has(self.template.spec) && size(self.template.spec.containers) > 0",
            "there is no container to run Ray in: write at least one, such as "
            f"containers: [{{name: {container}, image: rayproject/ray:2.60.0}}]",
            at=".template.spec.containers",
            reason="FieldValueRequired",
        ),
        rule(
            f"!({_is_filled('resources')}) || !({_is_filled('rayResources')})",
            "rayResources is another name of resources and both are set: keep resources and delete rayResources",
            at=".rayResources",
            reason="FieldValueForbidden",
        ),
        rule(
            f"!({_is_filled('resources')} || {_is_filled('rayResources')}) || !has(self.rayStartParams) || "
            f"!{_RESOURCE_PARAMS}.exists(name, name in self.rayStartParams && self.rayStartParams[name] != '')",
            "num-cpus, num-gpus, memory and resources are given here and the group's resources are set too: "
            "keep one, best resources: {CPU: ..., GPU: ..., memory: ...}",
            at=".rayStartParams",
            reason="FieldValueForbidden",
        ),
        rule(
            "!has(self.rayStartParams) || !('labels' in self.rayStartParams)",
            "labels cannot be given as a flag: write them into the group's own field labels",
            at=".rayStartParams",
            reason="FieldValueForbidden",
        ),
    )


def _is_filled(field: str) -> str:
    return f"has(self.{field}) && size(self.{field}) > 0"
