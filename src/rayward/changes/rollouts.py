"""The verbs of a rollout as intents: pure, from the live object; each says why it cannot be done where it cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from rayward.changes.intents import WORKERS, Annotate, AnnotatePods, Intent, SetField, Suspend
from rayward.changes.outcomes import Invalid
from rayward.changes.refs import Ref
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kube.machinery.jsonvalue import Object, entries, section

_SERVICE: Final = "RayService"
_RETRIED: Final = re.compile(r"^# rayward retry .*\n?", re.MULTILINE)
_LASTING: Final = {
    labels.PAUSE: "later upgrades wait before their switch too",
    labels.SERVE_CONFIG_UPGRADE: "later edits of serveConfigV2 alone make a new cluster too",
    labels.ROLLING_UPDATE: "later edits of worker templates replace workers one by one too",
}


def pause(ref: Ref, live: Object, rules: Rules) -> tuple[Intent, ...]:
    """Let the next upgrade, or the one in progress, become ready and wait before its switch."""
    _needs(ref, _SERVICE, "paused")
    _needs_rayward(ref, rules, "pause an upgrade")
    return (Annotate(labels.PAUSE, "true"),)


def resume(ref: Ref, live: Object) -> tuple[Intent, ...]:
    """Take back a pause and a suspension."""
    annotations, spec = section(section(live, "metadata"), "annotations"), section(live, "spec")
    wanted: list[Intent] = []
    if labels.PAUSE in annotations:
        wanted.append(Annotate(labels.PAUSE, None))
    if spec.get("suspend"):
        wanted.append(Suspend(suspend=False))
    return tuple(wanted)


def promote(ref: Ref, live: Object, rules: Rules) -> tuple[Intent, ...]:
    """Let the pending cluster take the traffic though the service is paused; it is named, so that no other one does."""
    _needs(ref, _SERVICE, "promoted")
    _needs_rayward(ref, rules, "promote an upgrade")
    return (Annotate(labels.PROMOTE, _pending(ref, live, "promote")),)


def abort(ref: Ref, live: Object, rules: Rules) -> tuple[Intent, ...]:
    """Give the pending cluster up; the generation is not tried again."""
    _needs(ref, _SERVICE, "aborted")
    _needs_rayward(ref, rules, "abort an upgrade")
    return (Annotate(labels.ABORT, _pending(ref, live, "abort")),)


def retry(ref: Ref, live: Object, now: str) -> tuple[Intent, ...]:
    """Ask again for a release that was given up, as a new generation."""
    _needs(ref, _SERVICE, "retried")
    failed, generation = _condition(live, "ReleaseFailed"), section(live, "metadata").get("generation")
    # One of an earlier generation was given up before the newest edit, which was not.
    if failed.get("status") != "True" or failed.get("observedGeneration") != generation:
        what = f"{ref} has no upgrade that was given up"
        progressing = _condition(live, "Progressing")
        why = f"Progressing is {progressing.get('status')}: {progressing.get('reason')}"
        why = why if progressing else "its status has no condition ReleaseFailed"
        raise Invalid(what, why, f"rayward restart {ref}   # makes a new cluster of the release that serves")
    if _keeps_cluster(live):
        # A template that differs would wait for the next cluster; a comment makes a generation that differs in nothing.
        config = str(section(live, "spec").get("serveConfigV2") or "")
        return (SetField("serveConfigV2", f"{_RETRIED.sub('', config).rstrip()}\n# rayward retry {now}\n"),)
    return restart(ref, live, now)


def restart(ref: Ref, live: Object, now: str) -> tuple[Intent, ...]:
    """A new cluster of the same release, beside the one that serves."""
    _needs(ref, _SERVICE, "restarted")
    if _keeps_cluster(live):
        what = f"{ref} cannot be restarted: its upgradeStrategy.type is None"
        raise Invalid(what, "no new cluster is made for it", f"rayward set {ref} spec.upgradeStrategy.type=NewCluster")
    return (AnnotatePods(labels.RESTARTED_AT, now, "head"),)


def upgrade(
    ref: Ref, live: Object, rules: Rules, settings: Sequence[Intent], now: str, *, paused: bool
) -> tuple[Intent, ...]:
    """Settings for a new cluster beside the one that serves; ``paused`` holds it before its switch."""
    _needs(ref, _SERVICE, "upgraded by a new cluster")
    if paused:
        _needs_rayward(ref, rules, "pause an upgrade")
    wanted: list[Intent] = list(settings)
    if _keeps_cluster(live):
        wanted.append(SetField("upgradeStrategy.type", "NewCluster"))
    if rules is Rules.RAYWARD:
        wanted.append(Annotate(labels.SERVE_CONFIG_UPGRADE, "NewCluster"))
    else:
        # other operators make a cluster for another pod template, and never for a Serve config alone
        wanted.append(AnnotatePods(labels.RESTARTED_AT, now, "head"))
    if paused:
        wanted.append(Annotate(labels.PAUSE, "true"))
    return tuple(wanted)


def rollout(ref: Ref, live: Object, rules: Rules, settings: Sequence[Intent], now: str) -> tuple[Intent, ...]:
    """Replace the workers of a cluster one by one, with these settings or as they are; of a service in its cluster."""
    strategy: Any = section(section(live, "spec"), "upgradeStrategy").get("type")
    if ref.kind == _SERVICE and strategy != "None":
        what = f"the workers of {ref} are not replaced in place: its upgradeStrategy.type is not None"
        why = "an edit of it makes a new cluster beside the one that serves"
        raise Invalid(
            what, why, f"rayward restart {ref}   # or first: rayward set {ref} spec.upgradeStrategy.type=None"
        )
    if ref.kind != _SERVICE:
        _needs(ref, "RayCluster", "rolled out")
    if rules is not Rules.RAYWARD:
        what = f"{rules.operator} cannot replace workers one by one"
        following = f"rayward reassemble {ref}" if ref.kind != _SERVICE else f"rayward undo {ref}"
        raise Invalid(what, "it recreates all pods or none", following, object=str(ref))
    wanted: list[Intent] = [Annotate(labels.ROLLING_UPDATE, "workers"), *settings]
    if strategy == "Recreate":
        wanted.append(SetField("upgradeStrategy.type", "None"))
    if not settings:
        wanted.append(AnnotatePods(labels.RESTARTED_AT, now, WORKERS))
    return tuple(wanted)


def lasting(ref: Ref, live: Object, chosen: Sequence[Intent]) -> tuple[str, ...]:
    """What stays on the object when the rollout is over, and counts for later edits too."""
    before = section(section(live, "metadata"), "annotations")
    set_now = [one for one in chosen if isinstance(one, Annotate) and one.name in _LASTING]
    return tuple(
        f"annotation {one.name}={one.value} stays: {_LASTING[one.name]}; remove it with "
        f"`rayward set {ref} annotation.{one.name}-`"
        for one in set_now
        if one.value is not None and before.get(one.name) != one.value
    )


def reconcile(now: str) -> tuple[Intent, ...]:
    """Have the operator look at an object again: an annotation that means nothing else."""
    return (Annotate(labels.RESTARTED_AT, now),)


def _needs(ref: Ref, kind: str, done: str) -> None:
    if ref.kind != kind:
        following = f"rayward set {ref} ...   # changes it as it is; rayward --help names what else there is"
        raise Invalid(f"a {ref.kind} cannot be {done}", f"only a {kind} can", following, object=str(ref))


def _needs_rayward(ref: Ref, rules: Rules, what: str) -> None:
    if rules is not Rules.RAYWARD:
        why = "the annotation is Rayward's, and this operator does not read it"
        raise Invalid(f"{rules.operator} cannot {what}", why, f"rayward undo {ref}", object=str(ref))


def _pending(ref: Ref, live: Object, verb: str) -> str:
    name: Any = section(section(live, "status"), "pendingServiceStatus").get("rayClusterName")
    if not name:
        why = "its status names no pending cluster"
        raise Invalid(f"{ref} has no upgrade in progress to {verb}", why, f"rayward get {ref}", object=str(ref))
    return str(name)


def _keeps_cluster(live: Object) -> bool:
    return section(section(live, "spec"), "upgradeStrategy").get("type") == "None"


def _condition(live: Object, kind: str) -> Object:
    """A condition; empty where there is none."""
    found: list[Object] = [one for one in entries(section(live, "status"), "conditions") if one.get("type") == kind]
    return found[0] if found else {}
