"""What Argo CD needs to know of Ray's kinds: without it, whatever was applied is healthy to it at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

HEALTH: Final = Path(__file__).with_name("argocd.lua").read_text(encoding="utf-8")
"""The health check, in Lua; one for all kinds."""
_KINDS: Final = ("RayCluster", "RayService", "RayJob", "RayCronJob")


def argocd_config() -> dict[str, Any]:
    """The part of Argo CD's ConfigMap that has the health checks, to be applied server-side beside what is there."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "labels": {"app.kubernetes.io/part-of": "argocd"}},
        "data": {f"resource.customizations.health.ray.io_{kind}": HEALTH for kind in _KINDS},
    }
