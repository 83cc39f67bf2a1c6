"""Two versions of an object as a unified diff, without what the server writes by itself."""

from __future__ import annotations

import difflib
from typing import Final

from rayward.kube.machinery import yamltext
from rayward.kube.machinery.jsonvalue import Object, section

_METADATA: Final = frozenset(
    {"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "ownerReferences"}
)
_ANNOTATIONS: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})


def essence(obj: Object, *, show_all: bool = False) -> Object:
    """An object as its author wrote it: no status, and no metadata of the server's."""
    if show_all:
        return obj
    metadata = {name: value for name, value in section(obj, "metadata").items() if name not in _METADATA}
    annotations = {name: value for name, value in section(metadata, "annotations").items() if name not in _ANNOTATIONS}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}


def diff(before: Object | None, after: Object | None, *, old: str, new: str, show_all: bool = False) -> str:
    """A unified diff of two versions as YAML; empty where they are the same."""
    texts = [
        "" if obj is None else yamltext.dump(essence(obj, show_all=show_all), sort_keys=True) for obj in (before, after)
    ]
    lines = difflib.unified_diff(*(text.splitlines(keepends=True) for text in texts), fromfile=old, tofile=new)
    return "".join(lines)
