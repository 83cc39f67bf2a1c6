"""Every field above the pod templates has a row here, under each strategy and each operator's rules."""

from __future__ import annotations

from typing import Final

import pytest

from rayward.kinds.effects import Effect, Rules, effects
from rayward.kinds.effects.roles import FIELDS, UNKNOWN_TO_1_6, UNKNOWN_TO_KUBERAY, is_below
from rayward.kinds.labels import ROLLING_UPDATE
from tests.kinds.clusters import Object, manifest, service_manifest
from tests.kinds.effects.fieldlist import changed, fields
from tests.kinds.fields import recorded

R, K6, K7 = Rules.RAYWARD, Rules.KUBERAY_1_6, Rules.KUBERAY_1_7

COLUMNS: Final = ("none", "recreate", "rolling", "service", "held", "k6 none", "k6 recreate", "k6 service", "k7 none")
"""A RayCluster with strategy None, Recreate, None and rolling workers; a RayService with NewCluster and None, under
Rayward's rules. Then a RayCluster with None and Recreate and a RayService under KubeRay 1.6's, and a RayCluster with
None under 1.7's."""

_SHORT: Final = {
    "-": Effect.IGNORED,
    "next": Effect.NEXT_PODS,
    "nextc": Effect.NEXT_CLUSTER,
    "place": Effect.IN_PLACE,
    "scale": Effect.SCALE,
    "roll": Effect.ROLLING_WORKERS,
    "new": Effect.NEW_CLUSTER,
    "all": Effect.RECREATE,
    "stop": Effect.SUSPEND,
    "no": Effect.REFUSED,
}

_ROWS: Final = {
    # the pods of head and workers
    "next all roll new nextc next all new next": (
        "authOptions.enableK8sTokenAuth authOptions.mode authOptions.secretName autoscalerOptions.version "
        "enableInTreeAutoscaling rayVersion "
        "gcsFaultToleranceOptions.externalStorageNamespace gcsFaultToleranceOptions.redisAddress "
        "gcsFaultToleranceOptions.redisPassword.value gcsFaultToleranceOptions.redisPassword.valueFrom "
        "gcsFaultToleranceOptions.redisUsername.value gcsFaultToleranceOptions.redisUsername.valueFrom"
    ),
    "next all roll new nextc - - - next": "gcsFaultToleranceOptions.backend",
    "next all roll new nextc - - - no": (
        "gcsFaultToleranceOptions.storage.accessModes gcsFaultToleranceOptions.storage.claimName "
        "gcsFaultToleranceOptions.storage.deletionPolicy gcsFaultToleranceOptions.storage.size "
        "gcsFaultToleranceOptions.storage.storageClassName gcsFaultToleranceOptions.storage.subPath"
    ),
    # the head's pod
    "next all next new nextc next all new next": (
        "headGroupSpec.labels headGroupSpec.rayStartParams headGroupSpec.resources headGroupSpec.template"
    ),
    "next all next new nextc - - - -": "headGroupSpec.rayResources",
    # the autoscaler, which does not run; and who acts, who is the same as before
    "- all - new nextc - all new -": (
        "autoscalerOptions.env autoscalerOptions.envFrom autoscalerOptions.idleTimeoutSeconds autoscalerOptions.image "
        "autoscalerOptions.imagePullPolicy autoscalerOptions.resources autoscalerOptions.securityContext "
        "autoscalerOptions.upscalingMode autoscalerOptions.volumeMounts workerGroupSpecs[].idleTimeoutSeconds managedBy"
    ),
    "- all - new nextc - - - -": "autoscalerOptions.args autoscalerOptions.command workerGroupSpecs[].priority",
    # objects beside the pods
    "place all place new nextc - all new -": (
        "headGroupSpec.headService headGroupSpec.serviceType headServiceAnnotations"
    ),
    "place all place new nextc place all new place": "headGroupSpec.enableIngress",
    "place all place new nextc - - - -": (
        "headGroupSpec.ingressOptions.host headGroupSpec.ingressOptions.path headGroupSpec.ingressOptions.pathType "
        "headGroupSpec.ingressOptions.tls"
    ),
    "place all place new nextc - - - no": (
        "networkPolicy.head.egressRules networkPolicy.head.ingressRules networkPolicy.mode "
        "networkPolicy.worker.egressRules networkPolicy.worker.ingressRules networkPolicy.workerGroups[].egressRules "
        "networkPolicy.workerGroups[].groupName networkPolicy.workerGroups[].ingressRules"
    ),
    # workers
    "next all roll new nextc next all new next #": (
        "workerGroupSpecs[].labels workerGroupSpecs[].rayStartParams workerGroupSpecs[].resources "
        "workerGroupSpecs[].template"
    ),
    "next all roll new nextc - - - - #": "workerGroupSpecs[].rayResources",
    "all all all new nextc all all new all": "workerGroupSpecs[].numOfHosts",
    # sizes: the group has one pod and may have four
    "scale scale scale scale scale scale scale nextc scale": (
        "workerGroupSpecs[].minReplicas workerGroupSpecs[].replicas"
    ),
    "place place place place place place place nextc place": "workerGroupSpecs[].maxReplicas",
    "scale scale scale nextc nextc scale scale nextc scale": "workerGroupSpecs[].scaleStrategy.workersToDelete",
    "scale scale scale nextc nextc scale all new scale": "workerGroupSpecs[].suspend",
    "stop stop stop stop stop stop stop stop stop": "suspend",
    # another name is another group: see test_groups
    "- - - - - - - - -": "workerGroupSpecs[].groupName",
    # how changes are made, and by whom
    "place place place nextc nextc place place nextc place": "upgradeStrategy.type",
    # features that are not there; validation refuses them unless they are switched off
    "- all - new nextc - - - no": (
        "historyServerOptions.collectorOptions.env historyServerOptions.collectorOptions.image "
        "historyServerOptions.collectorOptions.imagePullPolicy historyServerOptions.collectorOptions.resources "
        "tlsOptions.enabled"
    ),
}

CLUSTER_ROWS: Final = {path: row.removesuffix(" #").split() for row, paths in _ROWS.items() for path in paths.split()}

SERVICE_ROWS: Final = {
    # Rayward, KubeRay 1.6, KubeRay 1.7
    "deploymentUnhealthyRestartThreshold": "- - -",
    "deploymentUnhealthySecondThreshold": "place - -",
    "excludeHeadPodFromServeSvc": "place place place",
    "managedBy": "- - -",
    "rayClusterDeletionDelaySeconds": "place place place",
    "serveConfigV2": "place place place",
    "serveDeploymentGraphSpec": "- - -",
    "serveService": "place nextc nextc",
    "serviceUnhealthySecondThreshold": "- - -",
    "suspend": "stop - stop",
    "upgradeStrategy.clusterUpgradeOptions.gatewayClassName": "place place place",
    "upgradeStrategy.clusterUpgradeOptions.intervalSeconds": "place place place",
    "upgradeStrategy.clusterUpgradeOptions.maxSurgePercent": "place place place",
    "upgradeStrategy.clusterUpgradeOptions.stepSizePercent": "place place place",
    "upgradeStrategy.type": "place place place",
}


def _cluster(column: str) -> Object:
    body = manifest()
    if column.endswith("recreate"):
        body["spec"]["upgradeStrategy"] = {"type": "Recreate"}
    if column == "rolling":
        body["metadata"]["annotations"] = {ROLLING_UPDATE: "workers"}
    return body


def _service(column: str) -> Object:
    body = service_manifest()
    if column == "held":
        body["spec"]["upgradeStrategy"] = {"type": "None"}
    return body


def _effect(column: str, path: str, value: object) -> Effect:
    rules = {"k6": K6, "k7": K7}.get(column[:2], R)
    service = column.endswith(("service", "held"))
    old = _service(column) if service else _cluster(column)
    if path == "upgradeStrategy.type" and not service:
        value = None if column.endswith("recreate") else "None"
    if path == "managedBy":
        value = "ray.io/kuberay-operator"
    new = changed(old, f"rayClusterConfig.{path}" if service else path, value)
    found = effects(old["kind"], old, new, rules, problems=())
    assert len({change.effect for change in found}) == 1, found
    return found.changes[0].effect


CLUSTER_FIELDS: Final = fields("rayclusters")
SERVICE_FIELDS: Final = fields("rayservices")


def test_no_field_is_without_a_row() -> None:
    assert sorted(CLUSTER_FIELDS) == sorted(CLUSTER_ROWS)
    assert sorted(SERVICE_FIELDS) == sorted(SERVICE_ROWS)


def test_no_role_is_of_a_field_that_no_definition_has() -> None:
    below = [role for role in FIELDS if ".template." not in role and ".headService." not in role]
    known = [path for path in below if any(is_below(field, (path,)) for field in CLUSTER_FIELDS)]
    assert sorted(set(below) - set(known)) == ["headGroupSpec.rayStartParams.port"]


@pytest.mark.parametrize("path", [path for path in CLUSTER_FIELDS if path != "workerGroupSpecs[].groupName"])
def test_a_field_of_a_cluster(path: str) -> None:
    expected = dict(zip(COLUMNS, (_SHORT[word] for word in CLUSTER_ROWS[path]), strict=True))
    assert {column: _effect(column, path, CLUSTER_FIELDS[path]) for column in COLUMNS} == expected


@pytest.mark.parametrize("path", SERVICE_FIELDS)
@pytest.mark.parametrize("column", range(3), ids=("rayward", "kuberay-1.6", "kuberay-1.7"))
def test_a_field_of_a_service(path: str, column: int) -> None:
    value = SERVICE_FIELDS[path]
    if path == "managedBy":
        value = "ray.io/kuberay-operator"
    if path == "upgradeStrategy.type":
        value = "None"
    old = service_manifest()
    new = changed(old, path, value)
    found = effects("RayService", old, new, (R, K6, K7)[column], problems=())
    assert {change.effect for change in found} == {_SHORT[SERVICE_ROWS[path].split()[column]]}


def test_fields_that_kuberay_lacks_are_those_its_definitions_lack() -> None:
    theirs = recorded()["rayclusters"]["v1"]
    lacking = {path for path in CLUSTER_FIELDS if f".spec.{path}" not in theirs}
    claimed = {path for path in CLUSTER_FIELDS if is_below(path, (*UNKNOWN_TO_1_6, *UNKNOWN_TO_KUBERAY))}
    assert claimed == lacking
