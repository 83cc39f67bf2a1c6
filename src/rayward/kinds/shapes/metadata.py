"""What every child of a RayCluster has: its place, its labels, its owner."""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.meta import controlled_by
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object

OPERATOR: Final = "rayward"
"""Who made a pod, in the places where KubeRay writes its version."""

_EMBEDDED_METADATA: Final = ("name", "labels", "annotations", "finalizers")


def child(
    cluster: RayCluster, resource: Resource, name: str, its_labels: Object, annotations: Object | None = None
) -> Object:
    """An object of ``resource`` beside its cluster, without content."""
    metadata: Object = {"name": name, "namespace": cluster.metadata.namespace, "labels": its_labels}
    if annotations:
        metadata["annotations"] = annotations
    metadata["ownerReferences"] = [controlled_by(cluster, RAY_CLUSTERS)]
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


def application_labels(cluster: RayCluster) -> Object:
    """The labels by which tools find what belongs to a Ray cluster."""
    return {
        labels.CLUSTER: cluster.metadata.name,
        labels.APP_NAME: labels.APP_NAME_VALUE,
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
    }


def own_metadata(embedded: Any) -> Object:
    """A copy of what a user may say in the metadata of a template or service; nothing that a server sets."""
    metadata: Object = embedded or {}
    return {part: fresh(metadata[part]) for part in _EMBEDDED_METADATA if metadata.get(part)}


def fresh(value: Any) -> Any:
    """A copy that shares no map or list: what a user wrote lies in a cache that others read."""
    if isinstance(value, dict):
        return {name: fresh(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [fresh(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return value
