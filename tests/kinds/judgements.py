"""Manifests and what an API server with our CRDs says to them; the same everywhere."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from rayward.kinds.resources import RAY_CLUSTERS, RAY_CRON_JOBS, RAY_JOBS, RAY_SERVICES
from rayward.kube.core.resource import Resource
from tests.kinds import documented
from tests.kinds.clusters import Object, changed, cron_job_manifest, job_manifest, manifest, service_manifest

_GROUP: Final = "spec.workerGroupSpecs.0"
_FT: Final = "spec.gcsFaultToleranceOptions"
_HEAD: Final = "spec.headGroupSpec"
_POD: Final = {"spec": {"containers": [{"name": "ray"}]}}


_RESOURCES: Final = {each.kind: each for each in (RAY_CLUSTERS, RAY_SERVICES, RAY_JOBS, RAY_CRON_JOBS)}
_RULE: Final = {"policy": "DeleteCluster", "condition": {"jobStatus": "SUCCEEDED"}}


class Judgement(NamedTuple):
    """A manifest, and the field and words of its refusal; both empty when it is taken."""

    name: str
    body: Object
    field: str = ""
    says: str = ""

    @property
    def resource(self) -> Resource:
        return _RESOURCES[self.body["kind"]]


def _cluster(changes: dict[str, Any]) -> Object:
    body = manifest()
    for path, value in changes.items():
        body = changed(body, path, value)
    return body


def _service(changes: dict[str, Any]) -> Object:
    body = service_manifest()
    for path, value in changes.items():
        body = changed(body, path, value)
    return body


def _job(changes: dict[str, Any]) -> Object:
    body = job_manifest()
    for path, value in changes.items():
        body = changed(body, path, value)
    return body


def _cron_job(changes: dict[str, Any]) -> Object:
    body = cron_job_manifest()
    for path, value in changes.items():
        body = changed(body, path, value)
    return body


GOOD: Final = (
    Judgement("the small cluster", manifest()),
    Judgement("a name of 53 characters", manifest("a" * 53)),
    Judgement("rayResources", _cluster({f"{_GROUP}.rayResources": {"CPU": "2"}})),
    Judgement("rayResources as a number", _cluster({f"{_GROUP}.rayResources": {"CPU": 2, "memory": "1Gi"}})),
    Judgement("an empty alias", _cluster({f"{_GROUP}.rayResources": {}, f"{_GROUP}.resources": {"CPU": "2"}})),
    Judgement("no workers", _cluster({"spec.workerGroupSpecs": []})),
    Judgement("sizes by default", _cluster({"spec.workerGroupSpecs": [{"groupName": "a", "template": _POD}]})),
    Judgement("replicas above the maximum", _cluster({f"{_GROUP}.replicas": 99})),
    Judgement("resources without a flag of that name", _cluster({f"{_GROUP}.resources": {"CPU": "2"}})),
    Judgement("Redis", _cluster({_FT: {"redisAddress": "redis:6379"}})),
    Judgement("embedded storage", _cluster({_FT: {"backend": "rocksdb", "storage": {"size": "1Gi"}}})),
    Judgement("network policy", _cluster({"spec.networkPolicy": {"workerGroups": [{"groupName": "small"}]}})),
    Judgement("token mode", _cluster({"spec.authOptions": {"mode": "token"}})),
    Judgement("TLS, which the operator refuses", _cluster({"spec.tlsOptions": {"enabled": True}})),
    Judgement(
        "a pod with everything odd", _cluster({f"{_GROUP}.template.spec.volumes": [{"name": "v", "emptyDir": {}}]})
    ),
    Judgement("unknown fields", _cluster({"spec.unheardOf": 1})),
    Judgement("the cluster of the interface", documented.CLUSTER),
    Judgement("the service of the interface", documented.SERVICE),
    Judgement("a service with a program, which the operator refuses", documented.SERVICE_WITH_PROGRAM),
    Judgement("the small service", service_manifest()),
    Judgement("a config as object", _service({"spec.serveConfigV2": {"importPath": "app.Model", "deployments": []}})),
    Judgement("a graph", _service({"spec.serveDeploymentGraphSpec": {"importPath": "app.Model"}})),
    Judgement("a service's name of 47 characters", service_manifest("a" * 47)),
    Judgement("the small job", job_manifest()),
    Judgement("a job's name of 47 characters", job_manifest("a" * 47)),
    Judgement("a suspended job that keeps its cluster", _job({"spec.suspend": True})),
    Judgement("rules of deletion", _job({"spec.deletionStrategy": {"deletionRules": [_RULE]}})),
    Judgement("a job on a cluster that is there", _job({"spec.clusterSelector": {"ray.io/cluster": "c"}})),
    Judgement("a job every night", cron_job_manifest()),
    Judgement(
        "a schedule with every field", _cron_job({"spec.timeZone": "Europe/Berlin", "spec.concurrencyPolicy": "Forbid"})
    ),
)

BAD: Final = (
    Judgement(
        "fewest above most", _cluster({f"{_GROUP}.minReplicas": 9}), "spec.workerGroupSpecs[0].minReplicas", "lower min"
    ),
    Judgement(
        "a negative minimum", _cluster({f"{_GROUP}.minReplicas": -1}), "spec.workerGroupSpecs[0].minReplicas", "0"
    ),
    Judgement(
        "a negative maximum", _cluster({f"{_GROUP}.maxReplicas": -1}), "spec.workerGroupSpecs[0].maxReplicas", "0"
    ),
    Judgement("a name of 54 characters", manifest("a" * 54), "metadata.name", "at most 53 characters"),
    Judgement("a name with a dot", manifest("a.b"), "metadata.name", "beginning with a letter"),
    Judgement("a name with a digit in front", manifest("1a"), "metadata.name", "beginning with a letter"),
    Judgement(
        "a head without pod",
        _cluster({f"{_HEAD}.template": {}}),
        "spec.headGroupSpec.template.spec.containers",
        "write",
    ),
    Judgement(
        "a worker without container",
        _cluster({f"{_GROUP}.template.spec.containers": []}),
        "spec.workerGroupSpecs[0].template.spec.containers",
        "write at least one",
    ),
    Judgement("no head", {**manifest(), "spec": {}}, "spec.headGroupSpec", "Required"),
    Judgement(
        "resources twice",
        _cluster({f"{_GROUP}.resources": {"CPU": "1"}, f"{_GROUP}.rayResources": {"CPU": "1"}}),
        "spec.workerGroupSpecs[0].rayResources",
        "delete rayResources",
    ),
    Judgement(
        "resources of the head as flags too",
        _cluster({f"{_HEAD}.resources": {"CPU": "1"}, f"{_HEAD}.rayStartParams": {"num-cpus": "1"}}),
        "spec.headGroupSpec.rayStartParams",
        "keep one, best",
    ),
    Judgement(
        "rayResources of workers as flags too",
        _cluster({f"{_GROUP}.rayResources": {"CPU": "1"}, f"{_GROUP}.rayStartParams": {"memory": "1"}}),
        "spec.workerGroupSpecs[0].rayStartParams",
        "keep one, best",
    ),
    Judgement(
        "labels as a flag",
        _cluster({f"{_GROUP}.rayStartParams": {"labels": "a=b"}}),
        "spec.workerGroupSpecs[0].rayStartParams",
        "own field labels",
    ),
    Judgement(
        "two groups of one name",
        _cluster({"spec.workerGroupSpecs.-": {"groupName": "small", "template": _POD}}),
        "spec.workerGroupSpecs",
        "a name of its own",
    ),
    Judgement(
        "a group name that is no label",
        _cluster({f"{_GROUP}.groupName": "a" * 64}),
        "spec.workerGroupSpecs[0].groupName",
        "63",
    ),
    Judgement(
        "a suspended group under the autoscaler",
        _cluster({f"{_GROUP}.suspend": True, "spec.enableInTreeAutoscaling": True}),
        "spec.workerGroupSpecs",
        "delete its suspend",
    ),
    Judgement(
        "restarts under autoscaler v2",
        _cluster(
            {
                "spec.enableInTreeAutoscaling": True,
                "spec.autoscalerOptions": {"version": "v2"},
                f"{_HEAD}.template.spec.restartPolicy": "Always",
            }
        ),
        "spec.headGroupSpec.template.spec.restartPolicy",
        "write Never",
    ),
    Judgement(
        "an unheard-of mode",
        _cluster({"spec.autoscalerOptions": {"upscalingMode": "Fast"}}),
        "upscalingMode",
        "Conservative",
    ),
    Judgement("Redis without address", _cluster({_FT: {}}), f"{_FT}.redisAddress", "rocksdb to need none"),
    Judgement(
        "Redis and rocksdb", _cluster({_FT: {"backend": "rocksdb", "redisAddress": "r"}}), f"{_FT}.backend", "delete"
    ),
    Judgement("storage for Redis", _cluster({_FT: {"redisAddress": "r", "storage": {}}}), f"{_FT}.storage", "rocksdb"),
    Judgement(
        "size of a given claim",
        _cluster({_FT: {"backend": "rocksdb", "storage": {"claimName": "c", "size": "1Gi"}}}),
        f"{_FT}.storage.claimName",
        "delete claimName",
    ),
    Judgement(
        "rules for no group",
        _cluster({"spec.networkPolicy": {"workerGroups": [{"groupName": "large"}]}}),
        "spec.networkPolicy.workerGroups",
        "one of workerGroupSpecs",
    ),
    Judgement(
        "rules for what is not denied",
        _cluster({"spec.networkPolicy": {"mode": "DenyAllEgress", "head": {"ingressRules": [{}]}}}),
        "spec.networkPolicy.mode",
        "delete ingressRules",
    ),
    Judgement(
        "Kubernetes' tokens outside token mode",
        _cluster({"spec.authOptions": {"enableK8sTokenAuth": True}}),
        "spec.authOptions.enableK8sTokenAuth",
        "mode: token",
    ),
    Judgement("another manager", _cluster({"spec.managedBy": "me"}), "spec.managedBy", "kueue.x-k8s.io/multikueue"),
    Judgement(
        "a number of text", _cluster({f"{_GROUP}.replicas": "two"}), "spec.workerGroupSpecs[0].replicas", "integer"
    ),
    Judgement("a service's name of 48 characters", service_manifest("a" * 48), "metadata.name", "at most 47"),
    Judgement("a service without cluster", {**service_manifest(), "spec": {}}, "spec.rayClusterConfig", "Required"),
    Judgement(
        "an unheard-of strategy",
        _service({"spec.upgradeStrategy": {"type": "Rolling"}}),
        "spec.upgradeStrategy.type",
        "write NewCluster or None",
    ),
    Judgement(
        "a named head service",
        _service({"spec.rayClusterConfig.headGroupSpec.headService": {"metadata": {"name": "h"}}}),
        "spec.rayClusterConfig.headGroupSpec.headService.metadata.name",
        "delete the name",
    ),
    Judgement(
        "a bad cluster inside",
        _service({"spec.rayClusterConfig.workerGroupSpecs.0.minReplicas": 9}),
        "spec.rayClusterConfig.workerGroupSpecs[0].minReplicas",
        "lower minReplicas",
    ),
    Judgement("a job's name of 48 characters", job_manifest("a" * 48), "metadata.name", "at most 47 characters"),
    Judgement("a mode that is none", _job({"spec.submissionMode": "PigeonMode"}), "spec.submissionMode", "HTTPMode"),
    Judgement(
        "a deadline of no seconds", _job({"spec.preRunningDeadlineSeconds": 0}), "spec.preRunningDeadlineSeconds", "1"
    ),
    Judgement(
        "rules beside what they replace",
        _job(
            {
                "spec.deletionStrategy": {
                    "deletionRules": [_RULE],
                    "onSuccess": {"policy": "DeleteSelf"},
                    "onFailure": {"policy": "DeleteNone"},
                }
            }
        ),
        "spec.deletionStrategy",
        "delete both",
    ),
    Judgement(
        "half of the old policies",
        _job({"spec.deletionStrategy": {"onSuccess": {"policy": "DeleteSelf"}}}),
        "spec.deletionStrategy",
        "both onSuccess and onFailure",
    ),
    Judgement(
        "a rule about two statuses",
        _job(
            {
                "spec.deletionStrategy": {
                    "deletionRules": [{**_RULE, "condition": {"jobStatus": "FAILED", "jobDeploymentStatus": "Failed"}}]
                }
            }
        ),
        "spec.deletionStrategy.deletionRules[0].condition",
        "keep jobStatus or jobDeploymentStatus",
    ),
    Judgement("a cron job's name of 37 characters", cron_job_manifest("a" * 37), "metadata.name", "at most 36"),
    Judgement(
        "a policy that is none", _cron_job({"spec.concurrencyPolicy": "Maybe"}), "spec.concurrencyPolicy", "Allow"
    ),
)
