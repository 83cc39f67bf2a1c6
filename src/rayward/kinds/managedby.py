"""Who acts on an object: the values of ``spec.managedBy``."""

from __future__ import annotations

from typing import Any, Final

KUBERAY: Final = "ray.io/kuberay-operator"
"""This operator, which answers to KubeRay's name too."""
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""Leaves a RayService of a manager cluster to a worker cluster's operator."""
ACCEPTED: Final = (KUBERAY, MULTIKUEUE)
"""What the definitions let in."""
_OURS: Final = (None, "", KUBERAY)


def is_managed_here(managed_by: Any) -> bool:
    """Whether ``spec.managedBy``, read or raw, leaves an object to this operator."""
    return managed_by in _OURS
