"""Whether the schema of a CRD version is one that kube-apiserver would take, and if not, why in its words."""

from __future__ import annotations

from rayward.kube.machinery.schema.structural.check import check

__all__ = ["check"]
