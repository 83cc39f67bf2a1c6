"""Structural schemas: prune, default and validate custom resources as kube-apiserver does.

``compile`` makes a ``Schema`` out of a CRD's ``openAPIV3Schema`` or a built-in kind's published schema;
``structural.check`` says whether a CRD's schema is a valid one.
"""

from __future__ import annotations

from rayward.kube.machinery.schema.compiled import Schema, compile  # noqa: A004 the word for it
from rayward.kube.machinery.schema.metadata import MetadataError

__all__ = ["MetadataError", "Schema", "compile"]
