"""The pods of a cluster, ready to be created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rayward.kinds import labels, names
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import HeadGroup, RayCluster, WorkerGroup
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kinds.shapes import (
    authentication,
    env,
    faulttolerance,
    features,
    joining,
    probes,
    startcommand,
    volumes,
)
from rayward.kinds.shapes.autoscaler import autoscaler_container
from rayward.kinds.shapes.metadata import OPERATOR, Object, fresh, own_metadata
from rayward.kinds.shapes.record import template_record
from rayward.kube.core.meta import controlled_by
from rayward.kube.core.resource import PODS

_METRICS: Final = {"name": "metrics", "containerPort": 8080}
# What tells the operator whose pod it is; a template may change every other label.
_FIXED_LABELS: Final = (labels.NODE_TYPE, labels.GROUP, labels.CLUSTER)
_NEVER: Final = "Never"


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """Which replica of its group a worker belongs to, and which of its hosts it is."""

    replica_name: str
    replica_index: int
    host_index: int


def head_pod(cluster: RayCluster, name: str, *, release: str = "", record: str = "") -> Object:
    """The head. A name in its template is the user's choice and goes before ``name``.

    ``release`` and ``record`` are of this spec, for callers that know them already.
    """
    head = cluster.spec.head_group_spec
    pod = _plain_head(cluster, name)
    pod["metadata"]["annotations"] |= {
        labels.RECREATE_HASH: release or release_hash(cluster.spec),
        labels.OPERATOR_VERSION: OPERATOR,
        labels.TEMPLATE: record or template_record(head, cluster),
    }
    return pod


def worker_pod(
    cluster: RayCluster, group: WorkerGroup, name: str, place: ReplicaPlace | None = None, *, record: str = ""
) -> Object:
    """A worker of ``group``; ``place`` is the first one where it is not given, ``record`` as for a head."""
    pod = _skeleton(cluster, group, name, labels.WORKER, group.group_name)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["name"] = name
    metadata["labels"] |= _place_labels(group, place or ReplicaPlace("", 0, 0))
    metadata["annotations"][labels.TEMPLATE] = record or template_record(group, cluster)
    ray: Object = spec["containers"][0]
    spec["initContainers"] = [*(spec.get("initContainers") or ()), joining.wait_for_head(cluster, ray)]
    faulttolerance.add_to_worker(cluster, ray)
    if features.autoscaling(cluster) and features.autoscaler_version(cluster) == "v2":
        spec["restartPolicy"] = _NEVER
    if features.rolls_workers(cluster):
        joining.drain_before_stop(ray, spec)
    _complete(cluster, pod, startcommand.worker_params(cluster, group), head=False)
    return pod


def cleanup_template(cluster: RayCluster) -> Object:
    """The head's pod as a template, for the job that uses its container and volumes."""
    pod = _plain_head(cluster, "")
    metadata: Object = {**pod["metadata"], "generateName": names.pod_prefix(cluster.metadata.name)}
    if not metadata["name"]:
        del metadata["name"]
    return {"metadata": metadata, "spec": pod["spec"]}


def head_labels(cluster: RayCluster) -> Object:
    """The labels that the head really has, those of its template included."""
    return _labels(cluster, cluster.spec.head_group_spec, labels.HEAD, labels.HEAD_GROUP)


def _plain_head(cluster: RayCluster, name: str) -> Object:
    pod = _skeleton(cluster, cluster.spec.head_group_spec, name, labels.HEAD, labels.HEAD_GROUP)
    spec = pod["spec"]
    ray: Object = spec["containers"][0]
    if features.autoscaling(cluster):
        spec["serviceAccountName"] = features.account_name(cluster)
        spec["containers"].append(autoscaler_container(cluster, ray.get("image")))
        if version := features.autoscaler_version(cluster):
            env.add(ray, env.variable("RAY_enable_autoscaler_v2", "true" if version == "v2" else "false"))
        if features.autoscaler_version(cluster) == "v2":
            spec["restartPolicy"] = _NEVER
    faulttolerance.add_to_head(cluster, pod, ray)
    _complete(cluster, pod, startcommand.head_params(cluster), head=True)
    return pod


def _skeleton(
    cluster: RayCluster, group: HeadGroup | WorkerGroup, name: str, node_type: str, group_name: str
) -> Object:
    """The user's template as a pod of the cluster; its containers are copies."""
    embedded = own_metadata(group.template.get("metadata"))
    annotations: Object = embedded.get("annotations") or {}
    if features.overwrites_command(cluster):
        annotations[labels.OVERWRITE_COMMAND] = "true"
    metadata: Object = {
        "name": name,
        **embedded,
        "namespace": cluster.metadata.namespace,
        "labels": _labels(cluster, group, node_type, group_name),
        "annotations": annotations,
        "ownerReferences": [controlled_by(cluster, RAY_CLUSTERS)],
    }
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": metadata,
        "spec": fresh(group.template.get("spec") or {}),
    }


def _labels(cluster: RayCluster, group: HeadGroup | WorkerGroup, node_type: str, group_name: str) -> Object:
    metadata: Object = group.template.get("metadata") or {}
    made: Object = {
        labels.IS_RAY_NODE: "yes",
        labels.IDENTIFIER: names.identifier(cluster.metadata.name, node_type),
        labels.APP_NAME: labels.APP_NAME_VALUE,
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
        **(metadata.get("labels") or {}),
        **(group.labels or {}),
    }
    made.update(zip(_FIXED_LABELS, (node_type, group_name, cluster.metadata.name), strict=True))
    if features.creator(cluster) == "RayService":
        # A worker's readiness decides whether it serves; the head serves once its service says so.
        made[labels.SERVE] = "false" if node_type == labels.HEAD else "true"
    return made


def _place_labels(group: WorkerGroup, place: ReplicaPlace) -> Object:
    made: Object = {labels.REPLICA_INDEX: str(place.replica_index)}
    if (group.num_of_hosts or 1) > 1:
        made[labels.REPLICA_NAME] = place.replica_name
        made[labels.HOST_INDEX] = str(place.host_index)
    return made


def _complete(cluster: RayCluster, pod: Object, params: dict[str, str], *, head: bool) -> None:
    """What head and workers have in common; the order of variables and volumes is part of what a user sees."""
    spec: Object = pod["spec"]
    ray: Object = spec["containers"][0]
    init_containers: list[Object] = spec.get("initContainers") or []
    _expose_metrics(ray)
    if features.token_auth(cluster):
        for container in (ray, *joining.waiting(init_containers)):
            authentication.add_token(cluster, container)
        if features.account_auth(cluster):
            authentication.add_account_token(spec)
    if startcommand.PLASMA_DIRECTORY not in params:
        volumes.add_shared_memory(spec, ray)
    if head and features.autoscaling(cluster):
        volumes.add_shared_logs(spec, ray, spec["containers"][-1])
    command = startcommand.start_command(params, ray.get("resources") or {}, head=head)
    if not _starts_ray(pod, ray):
        ray["args"] = [startcommand.with_user_command(ray, command)]
        ray["command"] = list(startcommand.SHELL)
    for container in init_containers:
        env.add(container, *env.head_addresses(cluster))
    env.add_ray(ray, cluster, command, head=head)
    serving = features.creator(cluster) == "RayService"
    probes.add_probes(ray, params, cluster.spec.ray_version, head=head, serving=serving)


def _starts_ray(pod: Object, ray: Object) -> bool:
    overwrite: Any = pod["metadata"]["annotations"].get(labels.OVERWRITE_COMMAND, "")
    return overwrite.lower() == "true" or "ray start" in startcommand.user_command(ray)


def _expose_metrics(ray: Object) -> None:
    ports: list[Object] = ray.get("ports") or []
    if not any(port.get("name") == _METRICS["name"] for port in ports):
        ray["ports"] = [*ports, dict(_METRICS)]
