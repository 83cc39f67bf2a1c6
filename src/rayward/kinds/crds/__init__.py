"""The CustomResourceDefinitions, as data, never edited.

``python -m tools.crds`` writes Ray's, ``python -m tools.crds.kueue`` Kueue's.
"""

from rayward.kinds.crds.argocd import HEALTH, argocd_config
from rayward.kinds.crds.manifests import PLURALS, QUEUEING_PLURALS, manifest, manifests, path_of

__all__ = ["HEALTH", "PLURALS", "QUEUEING_PLURALS", "argocd_config", "manifest", "manifests", "path_of"]
