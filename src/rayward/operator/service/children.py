"""What a RayService owns: its RayClusters, their sizes, and the Services that lead to the one that serves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rayward.kinds import labels, names, shapes
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import Object, RayCluster, RayClusterSpec, WorkerGroup
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.meta import controlled_by
from rayward.kube.core.objects import ObjectMeta
from rayward.operator.cluster import services
from rayward.operator.service.readiness import first_progress

KIND: Final = RAY_SERVICES.kind
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_OWN: Final = frozenset({"replicas", "minReplicas", "maxReplicas", "scaleStrategy", "suspend"})
"""Fields of a worker group that are no part of a release."""


def cluster_name(service: RayService, cluster_hash: str, taken: frozenset[str]) -> str:
    """The name of the cluster for a release.

    It follows from the release, so that a creation whose answer is lost is found again instead of repeated. Where it
    is ``taken``, by a cluster that is being deleted, the next one is tried.
    """
    attempt = 0
    while True:
        seed = f"{service.metadata.uid}/{cluster_hash}/{attempt}".encode()
        digest = int.from_bytes(hashlib.sha256(seed).digest()[:8])
        letters: list[str] = []
        for _ in range(5):
            digest, index = divmod(digest, len(_LETTERS))
            letters.append(_LETTERS[index])
        name = names.child_cluster(service.metadata.name, "".join(letters))
        if name not in taken:
            return name
        attempt += 1


def child_cluster(
    service: RayService, spec: RayClusterSpec, config: Object, name: str, cluster_hash: str, serve: str, remedies: int
) -> Object:
    """A RayCluster for one release.

    Args:
        service: The owner.
        spec: What the cluster is to be.
        config: The same, as the user wrote it.
        name: The cluster's name.
        cluster_hash: Which release it is.
        serve: The Serve config that belongs to it.
        remedies: How often self-healing acted before.
    """
    metadata = service.metadata
    annotations = {name: text for name, text in (metadata.annotations or {}).items() if name not in labels.NOT_COPIED}
    annotations |= {
        labels.SPEC_HASH: cluster_hash,
        labels.WORKER_GROUP_COUNT: str(len(spec.worker_group_specs or ())),
        labels.OPERATOR_VERSION: shapes.OPERATOR,
        labels.SERVE_CONFIG: serve,
        labels.PROGRESS: first_progress(suspended=bool(spec.suspend)),
        labels.REPLICAS: replicas_text(spec),
        labels.SUSPEND_GIVEN: _yes_or_no(service.spec.ray_cluster_config.suspend),
    }
    if remedies:
        annotations[labels.REMEDIES] = str(remedies)
    return {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
            "labels": {**(metadata.labels or {}), **_origin(service)},
            "annotations": annotations,
            "ownerReferences": [controlled_by(service, RAY_SERVICES)],
        },
        "spec": config,
    }


def head_service(service: RayService, cluster: RayCluster) -> Object:
    """The stable Service of the head of the cluster that serves."""
    made = services.head_service(_asking(cluster))
    name = service.metadata.name
    made["metadata"] |= {
        "name": names.head_service(name),
        "labels": {
            **_origin(service),
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: names.identifier(name, labels.HEAD),
        },
        "ownerReferences": [controlled_by(service, RAY_SERVICES)],
    }
    return made


def serve_service_name(service: RayService) -> str:
    """The name of the stable Service of the applications: the user's, or KubeRay's."""
    theirs: Object = (service.spec.serve_service or {}).get("metadata") or {}
    return theirs.get("name") or names.serve_service(service.metadata.name)


def serve_service(service: RayService, cluster: RayCluster) -> Object | None:
    """The stable Service of the applications; None where the head has no port for Serve.

    Its ports are those of the cluster that it selects, not of the one that the spec asks for by now.
    """
    made = services.serve_service(_asking(cluster))
    given = service.spec.serve_service
    if made is None and given is None:
        return None
    made = made or {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"ports": []}}
    its_labels = {**_origin(service), labels.SERVE: names.serve_label(service.metadata.name)}
    metadata: Object = {"name": serve_service_name(service), "labels": its_labels, "annotations": {}}
    spec: Object = dict(made["spec"])
    if given is not None:
        theirs: Object = given.get("metadata") or {}
        metadata["labels"] = {**(theirs.get("labels") or {}), **its_labels}
        metadata["annotations"] = dict(theirs.get("annotations") or {})
        spec = _merged(spec, given.get("spec") or {})
    spec["selector"] = _selector(cluster.metadata.name)
    metadata |= {"namespace": service.metadata.namespace, "ownerReferences": [controlled_by(service, RAY_SERVICES)]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def cluster_serve_service(cluster: RayCluster) -> Object | None:
    """The Service of one cluster's applications, whether it serves or not: its endpoints show when it can."""
    made = services.serve_service(_asking(cluster))
    if made is None:
        return None
    name = cluster.metadata.name
    made["metadata"] = {
        "name": names.serve_service(name),
        "namespace": cluster.metadata.namespace,
        "labels": {labels.ORIGIN_NAME: name, labels.ORIGIN_KIND: KIND, labels.SERVE: names.serve_label(name)},
        "ownerReferences": [controlled_by(cluster, RAY_CLUSTERS)],
    }
    made["spec"] = {"selector": _selector(name), "ports": made["spec"]["ports"]}
    return made


def resize(wanted: RayClusterSpec, whole: Sequence[Object], cluster: RayCluster) -> list[Object]:
    """The JSON patch that gives the running cluster the sizes asked for; empty where nothing is to change.

    Bounds follow the user. ``replicas`` follow only where the user changed them since they were last given and the
    autoscaler does not own them. A group is found by its place and must have the name expected there, or the
    server refuses the whole patch.

    Args:
        wanted: ``rayClusterConfig`` of the service.
        whole: Its worker groups as the user wrote them.
        cluster: The RayCluster, of the same release but for sizes and groups added at the end. Its annotation says
            which replicas it was last given.
    """
    running, given = cluster.spec, cluster.metadata.annotation(labels.REPLICAS)
    autoscaled = bool(running.enable_in_tree_autoscaling)
    before, after = _read(given), _replicas(wanted)
    current = running.worker_group_specs or []
    operations: list[Object] = []
    if running.worker_group_specs is None and whole:
        operations.append({"op": "add", "path": "/spec/workerGroupSpecs", "value": []})
    for index, group in enumerate(wanted.worker_group_specs or []):
        if index >= len(current):
            operations.append({"op": "add", "path": "/spec/workerGroupSpecs/-", "value": whole[index]})
            continue
        name = group.group_name
        follows = not autoscaled and name in before and before[name] != after[name]
        changes = _changes(f"/spec/workerGroupSpecs/{index}", group, current[index], replicas=follows)
        if changes:
            operations.append({"op": "test", "path": f"/spec/workerGroupSpecs/{index}/groupName", "value": name})
            operations += changes
    if operations or before != after:
        marks = {
            labels.REPLICAS: replicas_text(wanted),
            labels.SPEC_HASH: release_hash(wanted),
            labels.WORKER_GROUP_COUNT: str(len(whole)),
        }
        if operations:
            marks[labels.RESIZED_GENERATION] = str(cluster.metadata.generation + 1)
        operations += [{"op": "add", "path": _path(name), "value": value} for name, value in marks.items()]
    return operations


def rework(wanted: RayClusterSpec, whole: Sequence[Object], running: Sequence[Object], metadata: ObjectMeta) -> Object:
    """The merge patch that gives the cluster that serves the workers of the spec; its own operator rolls them.

    It holds for one version of the cluster, so that no size that the autoscaler writes meanwhile is lost. Sizes of
    groups that are there follow as they always do.

    Args:
        wanted: ``rayClusterConfig`` of the service.
        whole: Its worker groups as the user wrote them.
        running: The worker groups of the RayCluster as they are written.
        metadata: The RayCluster's.
    """
    groups = [{name: part for name, part in group.items() if name not in _OWN} for group in whole[: len(running)]]
    kept = [{name: part for name, part in group.items() if name in _OWN} for group in running]
    annotations = {
        labels.ROLLING_UPDATE: "workers",
        labels.ROLLED_GENERATION: str(metadata.generation + 1),
        labels.SPEC_HASH: release_hash(wanted),
        labels.WORKER_GROUP_COUNT: str(len(whole)),
    }
    return {
        "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "annotations": annotations},
        "spec": {
            "workerGroupSpecs": [
                *({**group, **own} for group, own in zip(groups, kept, strict=True)),
                *whole[len(running) :],
            ]
        },
    }


def resuspend(wanted: RayClusterSpec, cluster: RayCluster) -> list[Object]:
    """The JSON patch that has a cluster follow ``rayClusterConfig.suspend``; empty where the user did not change it.

    It is compared with what was last given, not with the cluster's own field, which a quota gate writes. A cluster that
    an older Rayward created has none on record: it is only recorded.
    """
    given, wanted_now = cluster.metadata.annotation(labels.SUSPEND_GIVEN), _yes_or_no(wanted.suspend)
    if given == wanted_now:
        return []
    record = {"op": "add", "path": _path(labels.SUSPEND_GIVEN), "value": wanted_now}
    return [{"op": "add", "path": "/spec/suspend", "value": bool(wanted.suspend)}, record] if given else [record]


def _yes_or_no(value: bool | None) -> str:
    return str(bool(value)).lower()


def _path(annotation: str) -> str:
    return f"/metadata/annotations/{annotation.replace('/', '~1')}"


def replicas_text(wanted: RayClusterSpec) -> str:
    """The replicas that the user's spec gives, to be remembered."""
    return msgspec.json.encode(_replicas(wanted), order="deterministic").decode()


def _merged(ours: Object, theirs: Object) -> Object:
    """The user's Service, with the ports that the head has; of two ports of one name the user's counts."""
    given = {port.get("name"): port for port in theirs.get("ports") or ()}
    ports = [given.get(port["name"], port) for port in ours["ports"]] or list(theirs.get("ports") or ())
    return {**({"type": ours["type"]} if "type" in ours else {}), **theirs, "ports": ports}


def _asking(cluster: RayCluster) -> RayCluster:
    """The cluster as one that asks for a serve Service; annotations for its own head Service are not ours."""
    metadata = ObjectMeta(
        name=cluster.metadata.name,
        namespace=cluster.metadata.namespace,
        annotations={labels.ENABLE_SERVE_SERVICE: "true"},
    )
    return RayCluster(metadata=metadata, spec=msgspec.structs.replace(cluster.spec, head_service_annotations=None))


def _selector(cluster: str) -> dict[str, str]:
    return {labels.CLUSTER: cluster, labels.SERVE: "true"}


def _origin(service: RayService) -> dict[str, str]:
    return {labels.ORIGIN_NAME: service.metadata.name, labels.ORIGIN_KIND: KIND}


def _replicas(spec: RayClusterSpec) -> dict[str, int | None]:
    return {group.group_name: group.replicas for group in spec.worker_group_specs or ()}


def _changes(path: str, wanted: WorkerGroup, running: WorkerGroup, *, replicas: bool) -> list[Object]:
    pairs = [
        ("minReplicas", wanted.min_replicas, running.min_replicas),
        ("maxReplicas", wanted.max_replicas, running.max_replicas),
    ]
    if replicas:
        pairs.append(("replicas", wanted.replicas, running.replicas))
    return [_set(f"{path}/{field}", new) for field, new, old in pairs if new != old]


def _set(path: str, value: Any) -> Object:
    return {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}


def _read(text: str) -> dict[str, int | None]:
    try:
        return msgspec.json.decode(text, type=dict[str, int | None]) if text else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
