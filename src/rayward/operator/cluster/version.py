"""The Ray that a RayCluster says it has, and the one that its head runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rayward.kinds import rayversion
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.resources import RAY_SERVICES
from rayward.kinds.validation import image_version
from rayward.kube.core.meta import controller_of
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.pod_problems import version_mismatch
from rayward.operator.cluster.services import listening_port
from rayward.operator.ray.reach import PodPort
from rayward.operator.ray.versionprobe import VersionTarget

DASHBOARD: Final = "Dashboard"
_IMAGE_TAG: Final = "ImageTag"


def is_asked(cluster: RayCluster) -> bool:
    """Whether the head is asked: something is written to compare, and the owner's controller does not compare it."""
    owner = controller_of(cluster)
    asks = owner is not None and (owner.api_version, owner.kind) == (RAY_SERVICES.api_version, RAY_SERVICES.kind)
    return bool(_written(cluster.spec, "spec")) and not (asks or cluster.deleting)


def target_of(cluster: RayCluster, pods: Iterable[RayPod]) -> VersionTarget | None:
    """The head to ask; None where there is none to be asked."""
    head = next((pod for pod in pods if pod.is_head and pod.ready and not pod.deleting), None)
    if head is None or not head.status.pod_ip or not is_asked(cluster):
        return None
    place = PodPort(head.metadata.namespace, head.metadata.name, head.status.pod_ip, listening_port(cluster))
    return VersionTarget(place, head.incarnation)


def mismatch_of(cluster: RayCluster, pods: Iterable[RayPod], running: str) -> tuple[str, str]:
    """Reason and message of another Ray than the spec says; ``running`` is what the head answered, if it did."""
    if message := version_mismatch(pods, cluster.spec.ray_version):
        return _IMAGE_TAG, message
    differs = differs_from(cluster.spec, running, "spec")
    return (DASHBOARD, f"the head {differs}") if differs else (_IMAGE_TAG, "")


def differs_from(spec: RayClusterSpec, running: str, at: str) -> str:
    """Which Ray runs and what of the spec at ``at`` says another, as the end of a sentence; empty if nothing does."""
    runs = rayversion.parse(running)
    others = [f"{what} is {text[:64]}" for what, text in _written(spec, at) if runs != rayversion.parse(text)]
    if runs is None or not others:
        return ""
    return f"runs Ray {running[:64]}, but {' and '.join(others)}: write the version that runs"


def _written(spec: RayClusterSpec, at: str) -> list[tuple[str, str]]:
    tag = image_version(spec.head_group_spec.template)
    given = ((f"{at}.rayVersion", spec.ray_version), ("the tag of the head's image", tag))
    return [(what, text) for what, text in given if rayversion.parse(text) is not None]
