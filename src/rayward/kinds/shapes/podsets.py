"""What a RayCluster asks a queue for: one pod set for each group, with the exact shape of its pods.

A shape is what decides where a pod fits and what it costs. Image, command and environment are not part of it, so that
an upgrade of those alone asks for nothing new.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.canonical import canonical
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import features
from rayward.kinds.shapes.pods import head_pod, worker_pod
from rayward.kinds.shapes.totals import desired_workers
from rayward.kube.machinery import podrequests, quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section

CLEANUP_REQUESTS: Final = {"cpu": "200m", "memory": "256Mi"}
"""Of the job that removes a deleted cluster's keys from Redis, which runs in its head's stead."""
_PLACEMENT: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "runtimeClassName",
    "priorityClassName",
    "overhead",
    "resources",
)
_encoder: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class PodSetShape:
    """``count`` pods of one group."""

    group: str
    count: int
    spec: Object
    """A pod spec that is placed and costs as those pods do, and says no more."""

    @property
    def digest(self) -> str:
        """Equal for pods that are placed and cost alike."""
        return hashlib.sha256(_encoder.encode(self.spec)).hexdigest()[:12]


def pod_set_shapes(cluster: RayCluster) -> tuple[PodSetShape, ...]:
    """The head, then the worker groups in their order, those without pods too."""
    head = outlined(head_pod(cluster, "", release="-", record="-")["spec"])
    if features.fault_tolerant(cluster) and not features.embedded_storage(cluster):
        _raise_to(head, CLEANUP_REQUESTS)
    found = [PodSetShape(labels.HEAD_GROUP, 1, head)]
    for group in cluster.groups:
        spec = outlined(worker_pod(cluster, group, "", record="-")["spec"])
        found.append(PodSetShape(group.group_name, desired_workers(group), spec))
    return tuple(found)


def outlined(spec: Object) -> Object:
    """The part of a pod spec that is its shape."""
    made: Object = {"containers": [_container(one) for one in entries(spec, "containers")]}
    if spec.get("initContainers"):
        made["initContainers"] = [_container(one) for one in entries(spec, "initContainers")]
    # What was admitted is known by its shape's digest: another reading would ask for quota anew.
    placed: Any = canonical({name: spec[name] for name in _PLACEMENT if spec.get(name)}, version="v3")
    return {**made, **_texts(placed or {})}


def _container(container: Object) -> Object:
    made: Object = {"name": container.get("name", "")}
    asked = podrequests.container_requests(container)
    if asked:
        made["resources"] = {"requests": {name: str(amount) for name, amount in sorted(asked.items())}}
    if container.get("restartPolicy"):
        made["restartPolicy"] = container["restartPolicy"]
    return made


def _texts(value: Any) -> Any:
    """The canonical form has quantities as numbers of their own; a manifest has them as text."""
    if isinstance(value, dict):
        return {str(name): _texts(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_texts(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return str(value) if isinstance(value, quantity.Quantity) else value


def _raise_to(spec: Object, least: dict[str, str]) -> None:
    """Let a pod ask for no less than ``least``, in its first container."""
    total = podrequests.pod_requests(spec)
    container: Object = spec["containers"][0]
    requests: Object = dict(section(section(container, "resources"), "requests"))
    for name, text in least.items():
        missing = quantity.parse(text) - total.get(name, quantity.ZERO)
        if missing > quantity.ZERO:
            requests[name] = str(quantity.parse(requests.get(name, "0")) + missing)
    container["resources"] = {"requests": requests}
