"""The end of a RayService: its RayClusters and Services go first, then KubeRay's finalizer, where it has that."""

from __future__ import annotations

from collections.abc import Sequence

from rayward.kinds import labels


def finalizers_left(finalizers: Sequence[str] | None, clusters: int) -> list[str] | None:
    """The finalizers without KubeRay's; None where they stay as they are: it is not there, or RayClusters are left."""
    if clusters or labels.SERVICE_FINALIZER not in (finalizers or ()):
        return None
    return [name for name in finalizers or () if name != labels.SERVICE_FINALIZER]
