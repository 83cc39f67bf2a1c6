"""What a service owns: its Ray clusters, and the services that lead to the one that serves."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from rayward.kinds import labels, names, shapes
from rayward.kinds.raycluster import Object, RayCluster, RayClusterSpec
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.objects import ObjectMeta
from rayward.operator.cluster import services
from rayward.operator.service import memory
from rayward.operator.service.progress import first_progress
from rayward.operator.service.scale import replicas_text

KIND: Final = RAY_SERVICES.kind
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NOT_COPIED: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", labels.PAUSE, labels.PROMOTE, labels.ABORT}
)


def cluster_name(service: RayService, cluster_hash: str, taken: frozenset[str]) -> str:
    """The name of the cluster for a release.

    It follows from the release, so that a creation whose answer is lost is found again instead of repeated; with a
    name that is ``taken``, by a cluster on its way out, the next one is tried.
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
    service: RayService, spec: RayClusterSpec, config: Object, name: str, cluster_hash: str, serve: str, heals: int
) -> Object:
    """A RayCluster for one release.

    Args:
        service: The owner.
        spec: What the cluster is to be.
        config: The same, as the user wrote it.
        name: The cluster's name.
        cluster_hash: Which release it is.
        serve: The serve config that belongs to it.
        heals: How often an unhealthy service was given a remedy before.
    """
    metadata = service.metadata
    annotations = {name: text for name, text in (metadata.annotations or {}).items() if name not in _NOT_COPIED}
    annotations |= {
        labels.SPEC_HASH: cluster_hash,
        labels.WORKER_GROUP_COUNT: str(len(spec.worker_group_specs or ())),
        labels.OPERATOR_VERSION: shapes.OPERATOR,
        memory.CONFIG: serve,
        memory.PROGRESS: first_progress(suspended=bool(spec.suspend)),
        memory.REPLICAS: replicas_text(spec),
    }
    if heals:
        annotations[memory.HEALS] = str(heals)
    return {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
            "labels": {**(metadata.labels or {}), **_origin(service)},
            "annotations": annotations,
            "ownerReferences": [_owner(service)],
        },
        "spec": config,
    }


def head_service(service: RayService, cluster: RayCluster) -> Object:
    """The stable way to the head of the cluster that serves."""
    made = services.head_service(_asking(cluster))
    name = service.metadata.name
    made["metadata"] |= {
        "name": names.head_service(name),
        "labels": {
            **_origin(service),
            labels.NODE_TYPE: labels.HEAD,
            labels.IDENTIFIER: names.identifier(name, labels.HEAD),
        },
        "ownerReferences": [_owner(service)],
    }
    return made


def serve_service_name(service: RayService) -> str:
    """The name of the stable way to the applications: the user's, or KubeRay's."""
    theirs: Object = (service.spec.serve_service or {}).get("metadata") or {}
    return theirs.get("name") or names.serve_service(service.metadata.name)


def serve_service(service: RayService, cluster: RayCluster) -> Object | None:
    """The stable way to the applications; None where the head has no port for Serve.

    Its ports are those of the cluster it leads to, not of the one that the spec asks for by now.
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
    metadata |= {"namespace": service.metadata.namespace, "ownerReferences": [_owner(service)]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def cluster_serve_service(cluster: RayCluster) -> Object | None:
    """The way to the applications of one cluster, whether it serves yet or not: its endpoints tell when it can."""
    made = services.serve_service(_asking(cluster))
    if made is None:
        return None
    name = cluster.metadata.name
    owner = {
        "apiVersion": RAY_CLUSTERS.api_version,
        "kind": RAY_CLUSTERS.kind,
        "name": name,
        "uid": cluster.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made["metadata"] = {
        "name": names.serve_service(name),
        "namespace": cluster.metadata.namespace,
        "labels": {labels.ORIGIN_NAME: name, labels.ORIGIN_KIND: KIND, labels.SERVE: names.serve_label(name)},
        "ownerReferences": [owner],
    }
    made["spec"] = {"selector": _selector(name), "ports": made["spec"]["ports"]}
    return made


def _merged(ours: Object, theirs: Object) -> Object:
    """The user's service, with the ports that the head has; of two ports of one name the user's counts."""
    given = {port.get("name"): port for port in theirs.get("ports") or ()}
    ports = [given.get(port["name"], port) for port in ours["ports"]] or list(theirs.get("ports") or ())
    return {**({"type": ours["type"]} if "type" in ours else {}), **theirs, "ports": ports}


def _asking(cluster: RayCluster) -> RayCluster:
    """The cluster as one that asks for a service to its applications; annotations for its own head are not ours."""
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


def _owner(service: RayService) -> Object:
    return {
        "apiVersion": RAY_SERVICES.api_version,
        "kind": KIND,
        "name": service.metadata.name,
        "uid": service.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
