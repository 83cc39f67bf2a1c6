"""How a change is made, chosen with the change: the fields of each kind that say so, set in a manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from rayward.changes.outcomes import Invalid, UsageError
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Change, Effect, Rules
from rayward.kube.machinery.jsonvalue import Object, section

Strategy = Literal["new-cluster", "in-place", "rolling-workers", "recreate"]

_ANNOTATIONS: Final[dict[tuple[str, Strategy], tuple[str, str]]] = {
    ("RayService", "new-cluster"): (labels.SERVE_CONFIG_UPGRADE, "NewCluster"),
    ("RayService", "rolling-workers"): (labels.ROLLING_UPDATE, "workers"),
    ("RayCluster", "rolling-workers"): (labels.ROLLING_UPDATE, "workers"),
}
_CONFIG: Final = "spec.serveConfigV2"
_TYPES: Final[dict[tuple[str, Strategy], str]] = {
    ("RayService", "new-cluster"): "NewCluster",
    ("RayService", "in-place"): "None",
    ("RayService", "rolling-workers"): "None",
    ("RayCluster", "in-place"): "None",
    ("RayCluster", "rolling-workers"): "None",
    ("RayCluster", "recreate"): "Recreate",
}


def is_ours(strategy: Strategy | None) -> bool:
    """Whether Rayward's operator alone knows the strategy by its name."""
    return any(strategy == name for _, name in _ANNOTATIONS)


def refuse_unheeded(ref: Ref, strategy: Strategy, rules: Rules, changes: Iterable[Change]) -> None:
    """Refuse a strategy that another operator would pass over in silence.

    Raises:
        Invalid: The change would be made in another way, or not at all.
    """
    if rules is Rules.RAYWARD:
        return
    if strategy == "rolling-workers":
        what = f"{rules.operator} cannot replace workers one by one"
        following = f"rayward reassemble {ref}" if ref.kind == "RayCluster" else f"rayward restart {ref}"
        raise Invalid(what, "it recreates all pods or none", following, object=str(ref))
    for change in changes:
        if change.effect is Effect.IN_PLACE and change.path.startswith(_CONFIG):
            what = f"{rules.operator} makes no new cluster for a Serve config alone"
            why = "it sends the config to the cluster that serves"
            following = f"rayward upgrade {ref} {_CONFIG}=…   # changes a pod template too, which makes one"
            raise Invalid(what, why, following, object=str(ref), field=change.path)


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
