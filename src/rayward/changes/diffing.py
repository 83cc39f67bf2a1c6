"""Two versions of an object as a unified diff, without what the server writes by itself."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from rayward.changes.lint.schema import with_defaults
from rayward.changes.refs import Ref, ref_of
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


def diff_manifests(
    before: Iterable[Object], after: Iterable[Object], namespace: str, *, show_all: bool = False
) -> tuple[tuple[Ref, str], ...]:
    """Each object of two lots of manifests with its diff, without a server: what one lot lacks is new or gone.

    A field that one side leaves out and the other one has with its default is no difference.

    Raises:
        NotFound: A manifest is of another kind than Ray's.
        UsageError: One has no name.
    """
    old, new = ({ref_of(one, namespace): one for one in lot} for lot in (before, after))
    return tuple(
        (
            ref,
            diff(
                _filled(old.get(ref)),
                _filled(new.get(ref)),
                old=f"against/{ref}",
                new=f"wanted/{ref}",
                show_all=show_all,
            ),
        )
        for ref in (*new, *(one for one in old if one not in new))
    )


def _filled(obj: Object | None) -> Object | None:
    return None if obj is None else with_defaults(str(obj.get("kind")), obj)
