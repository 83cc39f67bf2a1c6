"""The CustomResourceDefinitions, as data, never edited.

``python -m tests.kinds.generate`` writes Ray's, ``python -m tests.kinds.kueue`` Kueue's.
"""

from rayward.kinds.crds.manifests import PLURALS, QUEUEING_PLURALS, manifest, manifests, path_of

__all__ = ["PLURALS", "QUEUEING_PLURALS", "manifest", "manifests", "path_of"]
