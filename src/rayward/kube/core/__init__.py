"""The part of Kubernetes' built-in kinds that we read on hot paths, as slim frozen types.

A type names only the fields that some room reads; the whole object stays available as bytes. Every field has a
default, so that partial objects (bookmarks, metadata-only answers) decode too.
"""

from rayward.kube.core.objects import KubeObject, ObjectMeta, OwnerReference
from rayward.kube.core.resource import Resource

__all__ = ["KubeObject", "ObjectMeta", "OwnerReference", "Resource"]
