"""How a change is made, chosen with the change: the fields of each kind that say so, set in a manifest."""

from __future__ import annotations

from typing import Any, Final, Literal

from rayward.changes.outcomes import UsageError
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object, section

Strategy = Literal["new-cluster", "in-place", "rolling-workers", "recreate"]

_ANNOTATIONS: Final[dict[tuple[str, Strategy], tuple[str, str]]] = {
    ("RayService", "new-cluster"): (labels.SERVE_CONFIG_UPGRADE, "NewCluster"),
    ("RayService", "rolling-workers"): (labels.ROLLING_UPDATE, "workers"),
    ("RayCluster", "rolling-workers"): (labels.ROLLING_UPDATE, "workers"),
}
_TYPES: Final[dict[tuple[str, Strategy], str]] = {
    ("RayService", "new-cluster"): "NewCluster",
    ("RayService", "in-place"): "None",
    ("RayService", "rolling-workers"): "None",
    ("RayCluster", "in-place"): "None",
    ("RayCluster", "rolling-workers"): "None",
    ("RayCluster", "recreate"): "Recreate",
}


def with_strategy(ref: Ref, wanted: Object, strategy: Strategy | None) -> Object:
    """A manifest that also says how the change is to be made.

    ``new-cluster`` of a RayService counts for its Serve config too. The other strategies' annotations are not removed
    from the live object: server-side apply removes what this manager applied before and a manifest no longer has.

    Raises:
        UsageError: The kind cannot be changed in this way.
    """
    if strategy is None:
        return wanted
    if (ref.kind, strategy) not in _TYPES:
        allowed = ", ".join(name for kind, name in _TYPES if kind == ref.kind)
        what = f"a {ref.kind} cannot be changed by --strategy={strategy}"
        why = f"it is one of {allowed}" if allowed else "a submitted job is not changed: it is suspended, or run again"
        following = "leave --strategy out" if allowed else f"rayward edit {ref}   # or rayward rerun {ref}"
        raise UsageError(what, why, following, object=str(ref))
    spec, metadata = section(wanted, "spec"), section(wanted, "metadata")
    upgrade: Object = {**section(spec, "upgradeStrategy"), "type": _TYPES[ref.kind, strategy]}
    result: Object = {**wanted, "spec": {**spec, "upgradeStrategy": upgrade}}
    named = _ANNOTATIONS.get((ref.kind, strategy))
    ours = {name for name, _ in _ANNOTATIONS.values()}
    kept: dict[str, Any] = {name: text for name, text in section(metadata, "annotations").items() if name not in ours}
    if named is not None:
        kept[named[0]] = named[1]
    if kept or "annotations" in metadata:
        result["metadata"] = {**metadata, "annotations": kept}
    return result
