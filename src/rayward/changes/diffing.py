"""Two versions of an object as a unified diff, without what the server writes by itself."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rayward.changes.lint.schema import with_defaults
from rayward.changes.refs import Ref, ref_of
from rayward.kinds.effects.differences import by_name
from rayward.kube.machinery import yamltext
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object, section

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


def without_defaults(after: Object, manifest: Object, before: Object | None) -> Object:
    """An object as a server would store it, without the defaults that neither its author nor the live object has."""
    filled = with_defaults(str(after.get("kind")), manifest)
    found: Object = _undefaulted(after, filled, (manifest, before or {}))
    return found


def _undefaulted(value: Any, filled: Any, written: Sequence[Any]) -> Any:
    if is_object(value):
        defaults, known = (filled if is_object(filled) else {}), [one for one in written if is_object(one)]
        return {
            name: _undefaulted(part, defaults.get(name), [one.get(name) for one in known])
            for name, part in value.items()
            if any(name in one for one in known) or defaults.get(name) != part
        }
    if not is_list(value):
        return value
    keys = [_keyed(items) for items in (value, filled, *written)]
    return [
        _undefaulted(part, keys[1].get(name), [one.get(name) for one in keys[2:]]) for name, part in keys[0].items()
    ]


def _keyed(items: Any) -> dict[Any, Any]:
    """The items of a list by their names, else by their places."""
    listed: list[Any] = items if is_list(items) else []
    named = by_name(listed)
    return named if named is not None else dict(enumerate(listed))


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
