"""The three patch types that need no field ownership: JSON patch, JSON merge patch, strategic merge patch.

Each ``apply`` returns a new document that shares what did not change, or raises ``PatchError``.
"""

from rayward.kube.machinery.patch.error import PatchError

__all__ = ["PatchError"]
