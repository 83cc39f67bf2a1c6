"""Who owns which field: conflicts of server-side apply as a table, and the one manager that apply may take from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rayward.changes.outcomes import Conflict
from rayward.changes.refs import Ref, cluster_path, cluster_spec
from rayward.kube.client.errors import ApiError
from rayward.kube.machinery.jsonvalue import Object, entries, is_list, is_object

AUTOSCALER_MANAGERS: Final = frozenset({"python-requests", "ray-autoscaler", "kuberay-autoscaler"})
"""The autoscaler writes with Python's requests and names no manager, so the server takes its user agent's name."""

_OWNED: Final = "FieldManagerConflict"
_GROUPS: Final = "workerGroupSpecs"
_KEPT: Final = ("replicas", "scaleStrategy")
_manager = re.compile(r'conflict with "([^"]*)"( using )?').search
_part = re.compile(r'\.([^.\[]+)|\[([^=\]]+)="?([^"\]]*)"?\]|\[(\d+)\]').finditer


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that somebody else owns with another value.

    Attributes:
        field: The path of the field.
        manager: Who owns it.
        theirs: The value that it has.
        ours: The value that was to be applied.
        updated: Whether they wrote it without applying it.
    """

    field: str
    manager: str
    theirs: Any
    ours: Any
    updated: bool = False


def conflicts_of(error: ApiError, live: Object, wanted: Object) -> tuple[FieldConflict, ...]:
    """The fields that a refused apply names; empty where it was refused for something else."""
    found: list[FieldConflict] = []
    for cause in error.causes:
        if cause.reason == _OWNED:
            manager = _manager(cause.message)
            theirs, ours = value_at(live, cause.field), value_at(wanted, cause.field)
            name, updated = (manager[1], manager[2] is not None) if manager else ("?", False)
            found.append(FieldConflict(cause.field.lstrip("."), name, theirs, ours, updated))
    return tuple(found)


def conflict_error(ref: Ref, conflicts: Iterable[FieldConflict]) -> Conflict:
    """The outcome of an apply that others' fields stand against."""
    rows = list(conflicts)
    why = "\n".join(
        f"{row.field}: owned by {row.manager}, which has {_short(row.theirs)}; yours is {_short(row.ours)}"
        for row in rows
    )
    managers = ", ".join(sorted({row.manager for row in rows}))
    what = f"{managers} owns {len(rows)} field{'s' if len(rows) > 1 else ''} of {ref} that the manifest sets otherwise"
    following = "leave these fields out of the manifest, or take them over: --force-conflicts"
    return Conflict(what, why, following, object=str(ref), field=rows[0].field if rows else "")


def with_live_sizes(kind: str, wanted: Object, live: Object) -> Object:
    """A manifest with the sizes that the autoscaler chose, where it runs: ``workerGroupSpecs`` is one atomic field.

    Where it does not run this is ``wanted`` itself, and no copy of it.
    """
    if cluster_spec(kind, live).get("enableInTreeAutoscaling") is not True:
        return wanted
    if cluster_spec(kind, wanted).get("enableInTreeAutoscaling") is not True:
        return wanted
    sizes = {group.get("groupName"): group for group in entries(cluster_spec(kind, live), _GROUPS)}
    groups: list[Any] = []
    for group in entries(cluster_spec(kind, wanted), _GROUPS):
        now = sizes.get(group.get("groupName"))
        kept = {name: now[name] for name in _KEPT if name in now} if now else {}
        rest = {name: value for name, value in group.items() if name not in _KEPT} if now else group
        groups.append({**rest, **kept})
    return _replaced(wanted, (*cluster_path(kind), _GROUPS), groups)


def only_autoscaler(kind: str, conflicts: Iterable[FieldConflict]) -> bool:
    """Whether Ray's autoscaler alone stands in the way, with the list whose sizes were filled in."""
    field = ".".join((*cluster_path(kind), _GROUPS))
    return all(row.field == field and row.manager in AUTOSCALER_MANAGERS for row in conflicts)


def value_at(obj: Object, field: str) -> Any:
    """The value at a field path as server-side apply writes it: ``.spec.ports[name="http"].port``."""
    found: Any = obj
    for part in _part(field if field.startswith((".", "[")) else f".{field}"):
        name, key, value, index = part.groups()
        if name is not None:
            found = found.get(name) if is_object(found) else None
        elif key is not None and is_list(found):
            found = next((one for one in found if is_object(one) and str(one.get(key)) == value), None)
        elif index is not None and is_list(found) and int(index) < len(found):
            found = found[int(index)]
        else:
            return None
    return found


def _replaced(obj: Object, path: tuple[str, ...], value: Any) -> Object:
    name, *rest = path
    return {**obj, name: _replaced(obj[name], tuple(rest), value) if rest else value}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
