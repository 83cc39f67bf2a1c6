"""RayService: its spec, status and CRD."""

from __future__ import annotations

from typing import Final

from tools.crds import builtin, cluster, options
from tools.crds.definition import column, conditions, definition, name_rules
from tools.crds.shape import (
    Object,
    boolean,
    described,
    integer,
    listing,
    mapping,
    rule,
    structure,
    text,
    time,
    with_rules,
)

NAME_MAX: Final = 47

_COLUMNS: Final = [
    column("service status", ".status.serviceStatus"),
    column("num serve endpoints", ".status.numServeEndpoints"),
    column("active cluster", ".status.activeServiceStatus.rayClusterName", wide=True),
    column("pending cluster", ".status.pendingServiceStatus.rayClusterName", wide=True),
    column("age", ".metadata.creationTimestamp", "date"),
    column("progress", ".status.conditions[?(@.type=='Progressing')].reason"),
]

_STRATEGIES: Final = "['NewCluster', 'NewClusterWithIncrementalUpgrade', 'None']"


def crd() -> Object:
    """The manifest."""
    return definition(
        "RayService", _COLUMNS, {"spec": _spec(), "status": _status()}, name_rules("RayService", NAME_MAX)
    )


def _spec() -> Object:
    return structure(
        {
            "rayClusterConfig": cluster.spec("The cluster that serves.", *_CLUSTER_RULES),
            "serveConfigV2": {
                "description": "Ray Serve's configuration: its YAML as a string, or the same as an object.",
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "serveDeploymentGraphSpec": {
                "description": "The same as serveConfigV2 written as an object; only one of both may be set.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "serveService": described(
                builtin.core("Service"), "A service in place of the serving one, completed by it."
            ),
            "excludeHeadPodFromServeSvc": boolean("Keeps requests away from the head's pod."),
            "rayClusterDeletionDelaySeconds": integer("How long a replaced cluster stays; 60 if unset.", minimum=0),
            "upgradeStrategy": _upgrade_strategy(),
            "managedBy": options.managed_by(),
            "suspend": boolean("Deletes clusters and services and keeps this object."),
            "serviceUnhealthySecondThreshold": integer("Has no effect."),
            "deploymentUnhealthySecondThreshold": integer(
                "How many seconds an application may be unhealthy before it is redeployed; unset, it is left alone."
            ),
            "deploymentUnhealthyRestartThreshold": integer("How many new clusters an unhealthy application may get."),
        },
        "What the service should be.",
        required=("rayClusterConfig",),
    )


def _upgrade_strategy() -> Object:
    return structure(
        {
            "type": text(
                "NewCluster (as if unset) or None.",
                **with_rules(rule(f"self in {_STRATEGIES}", "write NewCluster or None, or delete the field")),
            ),
            "clusterUpgradeOptions": structure(
                {
                    "maxSurgePercent": integer(default=100),
                    "stepSizePercent": integer(),
                    "intervalSeconds": integer(),
                    "gatewayClassName": text(),
                },
                "The pace of an incremental upgrade.",
                required=("stepSizePercent", "intervalSeconds", "gatewayClassName"),
            ),
        },
        "What a changed cluster does.",
    )


def _status() -> Object:
    return structure(
        {
            "serviceStatus": text("Running while requests are answered."),
            "status": text("RUNNING, DEPLOYING, FAILED or SUSPENDED."),
            "appStatus": structure(
                {
                    "status": text("HEALTHY, DEPLOYING or UNHEALTHY."),
                    "message": text(),
                    "applications": mapping(structure({"status": text(), "message": text()})),
                },
                "The applications of the serving cluster.",
            ),
            "rayClusterName": text("The serving cluster."),
            "deploymentStatuses": listing(
                structure({"application": text(), "name": text(), "status": text(), "message": text()}),
                "The deployments of the serving cluster.",
                **{"x-kubernetes-list-type": "atomic"},
            ),
            "startTime": time("When it first served.", nullable=True),
            "endTime": time("When it stopped for good.", nullable=True),
            "activeServiceStatus": _release("The cluster that serves."),
            "pendingServiceStatus": _release("The cluster that will serve."),
            "numServeEndpoints": integer("Pods that answer requests."),
            "conditions": conditions(),
            "lastUpdateTime": time("When this status was last written."),
            "observedGeneration": integer("The generation of the spec that was last acted upon.", bits=64),
        },
        "What the service is.",
    )


def _release(description: str) -> Object:
    health = {"status": text(), "message": text(), "healthLastUpdateTime": time()}
    application = structure({**health, "serveDeploymentStatuses": mapping(structure(health))})
    return structure(
        {
            "applicationStatuses": mapping(application, "Applications by name."),
            "rayClusterName": text(),
            "rayClusterStatus": cluster.status(),
            "targetCapacity": integer(),
            "trafficRoutedPercent": integer(),
            "lastTrafficMigratedTime": time(),
        },
        description,
    )


_CLUSTER_RULES: Final = (
    rule(
        "!has(self.headGroupSpec.headService) || !has(self.headGroupSpec.headService.metadata) || "
        "!has(self.headGroupSpec.headService.metadata.name) || self.headGroupSpec.headService.metadata.name == ''",
        "every cluster of the service needs a head service of its own: delete the name",
        at=".headGroupSpec.headService.metadata.name",
        reason="FieldValueForbidden",
    ),
    rule(
        "!has(self.authOptions) || !has(self.authOptions.enableK8sTokenAuth) || !self.authOptions.enableK8sTokenAuth",
        "a RayService cannot use Kubernetes' tokens: delete it; mode: token makes a token of its own",
        at=".authOptions.enableK8sTokenAuth",
        reason="FieldValueForbidden",
    ),
)
