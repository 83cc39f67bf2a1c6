"""How an object of Ray's kinds is deleted."""

from __future__ import annotations

from typing import Final, Literal

from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object, section

_TEMPLATES: Final = {"RayService": "rayClusterConfig", "RayJob": "rayClusterSpec"}


def propagation_of(live: Object) -> Literal["Foreground", "Background"]:
    """In the foreground, so that what is gone is gone with its pods; but not where state is kept in Redis.

    A Job of the cluster removes the keys there before the cluster goes. Foreground deletion deletes that Job with
    everything else that the cluster owns, again and again until the finalizer's time is up.
    """
    field = _TEMPLATES.get(str(live.get("kind")))
    spec = section(live, "spec")
    cluster = section(spec, field) if field is not None else spec
    annotations = section(section(live, "metadata"), "annotations")
    in_redis = annotations.get(labels.FT_ENABLED) == "true" or section(cluster, "gcsFaultToleranceOptions")
    return "Background" if in_redis else "Foreground"
