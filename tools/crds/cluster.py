"""RayCluster: its spec (which other kinds embed), its status, its CRD."""

from __future__ import annotations

from typing import Any, Final

from tools.crds import builtin, group, options
from tools.crds.definition import column, conditions, definition, name_rules
from tools.crds.shape import (
    Object,
    boolean,
    integer,
    listing,
    mapping,
    rule,
    structure,
    text,
    time,
    with_rules,
)

NAME_MAX: Final = 53

_COLUMNS: Final = [
    column("desired workers", ".status.desiredWorkerReplicas", "integer"),
    column("available workers", ".status.availableWorkerReplicas", "integer"),
    column("cpus", ".status.desiredCPU"),
    column("memory", ".status.desiredMemory"),
    column("gpus", ".status.desiredGPU"),
    column("tpus", ".status.desiredTPU", wide=True),
    column("status", ".status.state"),
    column("age", ".metadata.creationTimestamp", "date"),
    column("head pod IP", ".status.head.podIP", wide=True),
    column("head service IP", ".status.head.serviceIP", wide=True),
]

_AUTOSCALED: Final = "has(self.enableInTreeAutoscaling) && self.enableInTreeAutoscaling"
_VERSION_2: Final = (
    f"{_AUTOSCALED} && has(self.autoscalerOptions) && has(self.autoscalerOptions.version) "
    "&& self.autoscalerOptions.version == 'v2'"
)


def crd() -> Object:
    """The manifest."""
    properties = {"spec": spec("What the cluster should be."), "status": status("What the cluster is.")}
    return definition("RayCluster", _COLUMNS, properties, name_rules("RayCluster", NAME_MAX))


def spec(description: str, *more_rules: Object) -> Object:
    """What is asked for."""
    return structure(
        {
            "headGroupSpec": group.head(),
            "workerGroupSpecs": _groups(),
            "rayVersion": text("The version of Ray in the image; some features depend on it."),
            "suspend": boolean("Deletes the pods and keeps everything else."),
            "managedBy": options.managed_by(),
            "enableInTreeAutoscaling": boolean("Runs Ray's autoscaler beside the head."),
            "autoscalerOptions": options.autoscaler(),
            "upgradeStrategy": structure(
                {"type": text("None (as if unset) or Recreate, which replaces all pods.", enum=["Recreate", "None"])},
                "What a changed template does to running pods.",
            ),
            "authOptions": options.authentication(),
            "gcsFaultToleranceOptions": options.fault_tolerance(),
            "headServiceAnnotations": mapping(text(), "Annotations of the head's service."),
            "networkPolicy": options.network_policy(),
            "historyServerOptions": options.history_server(),
            "tlsOptions": structure({"enabled": boolean()}, "Encryption between Ray's processes."),
        },
        description,
        required=("headGroupSpec",),
        rules=(*_RULES, *more_rules),
    )


def status(description: str = "", **more: Any) -> Object:
    """What was seen."""
    return structure(
        {
            "state": text("ready or suspended; empty before it is either."),
            "reason": text("Why it is not ready."),
            "desiredWorkerReplicas": integer("Worker pods that should be."),
            "availableWorkerReplicas": integer("Worker pods that run."),
            "readyWorkerReplicas": integer("Worker pods that are ready."),
            "minWorkerReplicas": integer("The fewest worker pods."),
            "maxWorkerReplicas": integer("The most worker pods."),
            "desiredCPU": builtin.QUANTITY,
            "desiredMemory": builtin.QUANTITY,
            "desiredGPU": builtin.QUANTITY,
            "desiredTPU": builtin.QUANTITY,
            "lastUpdateTime": time("When this status was last written.", nullable=True),
            "stateTransitionTimes": mapping(time(), "When each state was last entered."),
            "endpoints": mapping(text(), "Ports of the head's service by name."),
            "head": structure(
                {"podIP": text(), "serviceIP": text(), "podName": text(), "serviceName": text()}, "Where the head is."
            ),
            "conditions": conditions(),
            "observedGeneration": integer("The generation of the spec that was last acted upon.", bits=64),
        },
        description,
        **more,
    )


def _groups() -> Object:
    return listing(
        group.worker(),
        "Groups of equal workers.",
        maxItems=group.MAX_GROUPS,
        **with_rules(
            rule(
                "self.all(one, self.exists_one(other, other.groupName == one.groupName))",
                "two groups have one groupName: give every group a name of its own",
            )
        ),
    )


_RULES: Final = (
    rule(
        f"!({_AUTOSCALED}) || !has(self.workerGroupSpecs) || "
        "self.workerGroupSpecs.all(group, !has(group.suspend) || !group.suspend)",
        "a group cannot be suspended while the autoscaler runs: delete its suspend, or set maxReplicas: 0",
        at=".workerGroupSpecs",
        reason="FieldValueForbidden",
    ),
    rule(
        f"!({_VERSION_2}) || !has(self.headGroupSpec.template.spec) || "
        "!has(self.headGroupSpec.template.spec.restartPolicy) || "
        "self.headGroupSpec.template.spec.restartPolicy in ['', 'Never']",
        "with autoscaler v2 pods are replaced, not restarted: delete restartPolicy or write Never",
        at=".headGroupSpec.template.spec.restartPolicy",
    ),
    rule(
        f"!({_VERSION_2}) || !has(self.workerGroupSpecs) || self.workerGroupSpecs.all(group, "
        "!has(group.template.spec) || !has(group.template.spec.restartPolicy) || "
        "group.template.spec.restartPolicy in ['', 'Never'])",
        "with autoscaler v2 pods are replaced, not restarted: delete restartPolicy from every group or write Never",
        at=".workerGroupSpecs",
    ),
    rule(
        "!has(self.networkPolicy) || !has(self.networkPolicy.workerGroups) || "
        "self.networkPolicy.workerGroups.all(rules, has(self.workerGroupSpecs) && "
        "self.workerGroupSpecs.exists(group, group.groupName == rules.groupName))",
        "rules are given for a group that the cluster does not have: write the groupName of one of workerGroupSpecs",
        at=".networkPolicy.workerGroups",
    ),
)
