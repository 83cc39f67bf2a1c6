"""Which object a change is about, and where its cluster spec lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.changes.outcomes import NotFound, UsageError
from rayward.kinds.resources import GROUP, RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object, section

RESOURCES: Final = {resource.kind: resource for resource in (RAY_CLUSTERS, RAY_SERVICES, RAY_JOBS)}
_CLUSTER_SPEC: Final = {
    "RayCluster": (),
    "RayService": ("rayClusterConfig",),
    "RayJob": ("rayClusterSpec",),
    "RayCronJob": ("jobTemplate", "rayClusterSpec"),
}
_SHORT: Final = {"cluster": "RayCluster", "service": "RayService", "job": "RayJob"}


@dataclass(frozen=True, slots=True)
class Ref:
    """One object of ray.io."""

    kind: str
    name: str
    namespace: str

    @property
    def resource(self) -> Resource:
        return RESOURCES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


def kind_of(word: str) -> str:
    """The kind that a user means by ``cluster``, ``rayservices`` or ``RayJob``.

    Raises:
        NotFound: It is none of ours.
    """
    plain = word.lower().removesuffix(f".{GROUP}").removesuffix("s").removeprefix("ray")
    if plain not in _SHORT:
        following = "name a raycluster, rayservice or rayjob; rayward get and describe know every kind"
        raise NotFound(f"no kind {word!r} can be changed here", "only Ray's kinds can", following)
    return _SHORT[plain]


def parse_ref(words: tuple[str, ...], namespace: str) -> Ref:
    """An object named as ``KIND NAME`` or ``KIND/NAME``.

    Raises:
        UsageError: The words have another form.
        NotFound: The kind is none of ours.
    """
    parts = words[0].split("/") if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts):
        why = "an object is named as KIND/NAME, or as KIND NAME"
        raise UsageError(f"cannot tell which object {' '.join(words)!r} is", why, "rayward get rayservices")
    return Ref(kind_of(parts[0]), parts[1], namespace)


def ref_of(obj: Object, namespace: str = "default") -> Ref:
    """The object that a manifest describes.

    Raises:
        NotFound: The kind is none of ours.
        UsageError: It has no name.
    """
    kind, metadata = str(obj.get("kind") or ""), section(obj, "metadata")
    if kind not in RESOURCES or not str(obj.get("apiVersion") or "").startswith(f"{GROUP}/"):
        why = "only RayCluster, RayService and RayJob of ray.io can"
        raise NotFound(f"no kind {kind!r} can be changed here", why, "rayward apply -f FILE takes every kind")
    if not metadata.get("name"):
        raise UsageError(f"the {kind} has no name", "objects are found by metadata.name", "write metadata.name")
    return Ref(kind, str(metadata["name"]), str(metadata.get("namespace") or namespace))


def cluster_path(kind: str) -> tuple[str, ...]:
    """The way from an object's root to its cluster spec."""
    return ("spec", *_CLUSTER_SPEC[kind])


def cluster_spec(kind: str, obj: Object) -> Object:
    """An object's cluster spec; empty where there is none."""
    found = obj
    for part in cluster_path(kind):
        found = section(found, part)
    return found
