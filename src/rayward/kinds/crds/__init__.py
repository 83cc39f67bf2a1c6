"""The CustomResourceDefinitions, as data: written by ``python -m tests.kinds.generate``, never edited."""

from rayward.kinds.crds.manifests import PLURALS, manifest, manifests, path_of

__all__ = ["PLURALS", "manifest", "manifests", "path_of"]
