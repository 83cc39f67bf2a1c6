"""Small clusters for the tests of this folder."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rayward.kinds.raycluster import RayCluster

Object = dict[str, Any]


def cluster(
    spec: Object | None = None,
    *,
    head: Object | None = None,
    groups: list[Object] | None = None,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    name: str = "demo",
) -> RayCluster:
    """A cluster of one head and, unless told otherwise, one worker; ``head`` and ``groups`` are laid over theirs."""
    workers = [{} for _ in range(1)] if groups is None else groups
    written = {
        "metadata": {"name": name, "namespace": "lab", "uid": "u-1", "annotations": annotations, "labels": labels},
        "spec": {
            "headGroupSpec": {"template": template(), **(head or {})},
            "workerGroupSpecs": [
                {"groupName": f"g{index}", "replicas": 1, "template": template(), **group}
                for index, group in enumerate(workers)
            ],
            **(spec or {}),
        },
    }
    return msgspec.json.decode(json.dumps(written).encode(), type=RayCluster)


def template(container: Object | None = None, **spec: Any) -> Object:
    """A pod template with one Ray container."""
    return {"spec": {"containers": [{"name": "ray", "image": "ray:1", **(container or {})}], **spec}}


def ray(pod: Object) -> Object:
    """The Ray container of a pod."""
    return pod["spec"]["containers"][0]


def variables(container: Object) -> dict[str, Any]:
    """Its variables by name: values, or where they come from."""
    return {found["name"]: found.get("value", found.get("valueFrom", "")) for found in container.get("env", ())}
