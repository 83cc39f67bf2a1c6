"""What applying a manifest does, before it is applied: pure, from the live object, the wanted one and what is known."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from rayward.changes.costs import (
    Amounts,
    Budget,
    Node,
    added,
    charged,
    most,
    record_of,
    room,
    shapes_now,
    shapes_of,
    shortages,
    total,
    unplaced,
)
from rayward.changes.outcomes import Conflict, Invalid
from rayward.changes.refs import Ref
from rayward.changes.servicesizes import at_rest, with_config
from rayward.kinds import labels
from rayward.kinds.effects import Change, Effect, Effects, Rules, effects
from rayward.kinds.shapes import PodShape, is_outdated
from rayward.kinds.validation import Problem
from rayward.kube.machinery.jsonvalue import Object, section

Action = Literal["create", "update", "none"]

_DISRUPTIVE: Final = (Effect.RECREATE, Effect.SUSPEND)


@dataclass(frozen=True, slots=True)
class Restart:
    """Pods of one group that are replaced."""

    group: str
    pods: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What would happen.

    Attributes:
        ref: The object.
        action: Whether it is created, updated, or already as wanted.
        rules: Whose operator was assumed to act.
        changes: Every changed field and its effect.
        restarts: Which pods are replaced.
        now: What the object's pods request before the change.
        after: What they request after it.
        peak: What they request at most while it is made, with both clusters where there are two.
        blocked: Limits and nodes that do not allow the peak; empty where they do or none are known.
        unknown: What could not be asked: whose operator acts, what is free, which limits there are.
        downtime: Whether requests or work are interrupted, in words.
        approval: The steps that somebody should agree to.
        base: The uid and generation that the plan is for; empty for an object that is not there yet.
        wanted: The manifest.
        force_conflicts: Whether applying it takes fields from other managers.
    """

    ref: Ref
    action: Action
    rules: Rules
    changes: tuple[Change, ...]
    restarts: tuple[Restart, ...]
    now: Amounts
    after: Amounts
    peak: Amounts
    blocked: tuple[str, ...]
    downtime: str
    approval: tuple[str, ...]
    base: Object
    wanted: Object
    force_conflicts: bool = False
    unknown: tuple[str, ...] = ()

    @property
    def strongest(self) -> Effect | None:
        """The effect that is felt most."""
        return Effects(self.changes).strongest

    def document(self) -> dict[str, Any]:
        """The plan for programs and for a plan file; fields are added, never changed."""
        return {
            "apiVersion": "cli.rayward/v1",
            "kind": "Plan",
            "object": {"kind": self.ref.kind, "name": self.ref.name, "namespace": self.ref.namespace},
            "action": self.action,
            "rules": str(self.rules),
            "effect": None if self.strongest is None else str(self.strongest),
            "changes": [
                {
                    "path": change.path,
                    "effect": str(change.effect),
                    "why": change.why,
                    "old": change.old,
                    "new": change.new,
                    "restarts": list(change.restarts),
                }
                for change in self.changes
            ],
            "restarts": [{"group": one.group, "pods": one.pods} for one in self.restarts],
            "resources": {name: _texts(part) for name, part in _named(self)},
            "blocked": list(self.blocked),
            "unknown": list(self.unknown),
            "downtime": self.downtime,
            "approval": list(self.approval),
            "base": self.base,
            "forceConflicts": self.force_conflicts,
            "wanted": self.wanted,
        }


def plan(
    ref: Ref,
    live: Object | None,
    wanted: Object,
    *,
    rules: Rules = Rules.RAYWARD,
    running: Object | None = None,
    serving: Object | None = None,
    beside: Sequence[Object] = (),
    budgets: Sequence[Budget] = (),
    nodes: Sequence[Node] | None = None,
    pods: Sequence[Object] | None = None,
    queued: Sequence[str] = (),
    problems: Sequence[Problem] | None = None,
    manifest: Object | None = None,
    force_conflicts: bool = False,
    unknown: Sequence[str] = (),
) -> Plan:
    """Predict what turning ``live`` into ``wanted`` does.

    Args:
        ref: The object.
        live: It as it is; None where it is not there.
        wanted: It as it would be, with the server's defaults.
        rules: Whose operator acts on it.
        running: Of a RayService the spec of the RayCluster that serves.
        serving: The Serve config that last ran there.
        beside: Of a RayService the specs of its other RayClusters: one that is made ready, or kept for a way back.
        budgets: Limits that count for its pods.
        nodes: The nodes and what is free on each; None where that is not known.
        pods: Those that a RayCluster has: some may be of an earlier template. By its spec where it is not given.
        queued: Why the queue that the object is in would not let it run now.
        problems: What validation found; found here where it is not given.
        manifest: What the user wrote, for a plan that is applied later; ``wanted`` where it is not given.
        force_conflicts: Whether applying it takes fields from other managers.
        unknown: What could not be asked, so that the plan leaves it out or assumes something.
    """
    after_shapes = _shapes(ref, wanted)
    beside_shapes: tuple[PodShape, ...] = ()
    if live is None:
        found, before_shapes = Effects(), ()
    else:
        found = effects(ref.kind, live, wanted, rules, running=running, serving=serving, problems=problems)
        before_shapes = _shapes(ref, live)
        if ref.kind == "RayService" and (running is not None or beside):
            specs = [spec for spec in (running, *beside) if spec is not None]
            # one that waits for quota is suspended and has no pods
            of_clusters = [() if spec.get("suspend") else _shapes(ref, with_config(live, spec)) for spec in specs]
            before_shapes, *others = of_clusters
            beside_shapes = tuple(itertools.chain(*others))
        elif pods is not None:
            before_shapes = shapes_now(before_shapes, pods)
        if running is not None:
            after_shapes = _shapes(ref, at_rest(found, rules, live, wanted, running))
        elif ref.kind != "RayService":
            after_shapes = _kept(found, before_shapes, after_shapes)
    pieces = _Shapes(before_shapes, beside_shapes, after_shapes)
    now, after, peak = pieces.amounts(found, total)
    coming = _coming(found, before_shapes, after_shapes, created=live is None)
    blocked: list[str] = []
    for budget in budgets:
        counted = pieces.amounts(found, functools.partial(charged, selectors=budget.selectors))
        blocked += map(str, shortages(budget, counted[0], counted[2]))
    if coming:
        blocked += queued
    if nodes is not None:
        blocked += [
            f"no node has room for {shape.count} pod{'s' if shape.count > 1 else ''} of group {shape.group}"
            for shape in unplaced(room(nodes, found.restarts), coming)
        ]
    return Plan(
        ref=ref,
        action="create" if live is None else "update" if found.changes else "none",
        rules=rules,
        changes=found.changes,
        restarts=_restarts(found, before_shapes),
        now=now,
        after=after,
        peak=peak,
        blocked=tuple(blocked),
        downtime=_downtime(ref, found),
        approval=tuple(_approval(found)),
        base=_base(live),
        wanted=manifest if manifest is not None else wanted,
        force_conflicts=force_conflicts,
        unknown=tuple(unknown),
    )


def refuse_other(document: Object) -> None:
    """Refuse a document that is no plan.

    Raises:
        Invalid: It is none.
    """
    if document.get("kind") != "Plan" or document.get("apiVersion") != "cli.rayward/v1":
        raise Invalid("the file is not a plan", "", "rayward plan -f FILE --out plan.json")


def check_base(document: Object, live: Object | None) -> None:
    """Refuse a saved plan whose object has moved.

    Raises:
        Conflict: The live object is another one, or of another generation.
        Invalid: The document is not a plan.
    """
    refuse_other(document)
    if section(document, "base") == _base(live):
        return
    about = section(document, "object")
    name = f"{str(about.get('kind')).lower()}/{about.get('name')}"
    what = f"{name} has changed since the plan was made"
    why = f"the plan is for {_shown(section(document, 'base'))}, the object is {_shown(_base(live))}"
    raise Conflict(what, why, "make the plan again: rayward plan -f FILE --out plan.json", object=name)


def _shapes(ref: Ref, obj: Object) -> tuple[PodShape, ...]:
    try:
        return shapes_of(ref.kind, obj)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        # a spec that validation refuses has no pods that could be counted
        return ()


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The pods of the cluster that an edit is about, before and after, and of clusters beside it."""

    before: tuple[PodShape, ...]
    beside: tuple[PodShape, ...]
    after: tuple[PodShape, ...]

    def amounts(self, found: Effects, count: Callable[[Iterable[PodShape]], Amounts]) -> tuple[Amounts, ...]:
        """What they take now, in the end, and at most between."""
        now = count((*self.before, *self.beside))
        if Effect.REFUSED in found:
            return now, count(self.after) if _stops(found) else now, now
        after = count(self.after)
        if Effect.NEW_CLUSTER in found:
            return now, after, added(now, after)
        if labels.HEAD_GROUP in found.restarts:
            # all pods go before the first comes
            return now, after, added(count(self.beside), most(count(self.before), after))
        peak = count(self.beside)
        for group in dict.fromkeys(shape.group for shape in (*self.before, *self.after)):
            old, new = ([one for one in shapes if one.group == group] for shapes in (self.before, self.after))
            # pods that are added are there before the first one that stays is replaced
            mixed: Amounts = count(_resized(old, new)) if group in found.restarts else {}
            peak = added(peak, most(most(count(old), count(new)), mixed))
        return now, after, peak


def _kept(found: Effects, before: Sequence[PodShape], after: Sequence[PodShape]) -> tuple[PodShape, ...]:
    """The pods there are once an edit is made: those that are not replaced stay as they were made."""
    if any(effect in found for effect in (Effect.RESUME, Effect.SUSPEND)) or not before:
        return tuple(after)
    scaled = [change.path for change in found if change.effect is Effect.SCALE]
    shapes: list[PodShape] = []
    for group in dict.fromkeys(shape.group for shape in (*before, *after)):
        old, new = ([shape for shape in part if shape.group == group] for part in (before, after))
        if group in found.restarts or not old:
            shapes += new
        elif any(f"[{group}]" in path for path in scaled):
            shapes += _resized(old, new)
        else:
            shapes += old
    return tuple(shapes)


def _resized(old: Sequence[PodShape], new: Sequence[PodShape]) -> list[PodShape]:
    """A group with another size: the pods that stay, and new ones for the rest.

    Those of an earlier template go first, then the newest.
    """
    left = sum(shape.count for shape in new)
    current = record_of(new[-1].pod) if new else ""
    shapes: list[PodShape] = []
    for shape in sorted(old, key=lambda one: bool(current) and is_outdated(record_of(one.pod), current)):
        stays = min(shape.count, left)
        left -= stays
        shapes.append(replace(shape, count=stays))
    return [*shapes, *(replace(shape, count=left) for shape in new)]


def _coming(
    found: Effects, before: Sequence[PodShape], after: Sequence[PodShape], *, created: bool
) -> tuple[PodShape, ...]:
    """The pods that have to find a node beside those that go on running."""
    if created or Effect.NEW_CLUSTER in found or Effect.RESUME in found:
        return tuple(shape for shape in after if shape.count)
    if Effect.REFUSED in found:
        return ()
    coming: list[PodShape] = []
    for group in dict.fromkeys(shape.group for shape in after):
        new = [shape for shape in after if shape.group == group]
        goes_on = 0 if group in found.restarts else sum(shape.count for shape in before if shape.group == group)
        more = sum(shape.count for shape in new) - goes_on
        if more > 0:
            coming.append(replace(new[-1], count=more))
    return tuple(coming)


def _restarts(found: Effects, shapes: Sequence[PodShape]) -> tuple[Restart, ...]:
    counts = Counter[str]()
    for shape in shapes:
        counts[shape.group] += shape.count
    return tuple(Restart(group, counts[group]) for group in found.restarts if counts.get(group))


def _stops(found: Effects) -> bool:
    """Whether the object is suspended, which a spec that is rejected does too."""
    return any(change.effect is Effect.SUSPEND and change.path == "spec.suspend" for change in found)


def _downtime(ref: Ref, found: Effects) -> str:
    if Effect.REFUSED in found and not _stops(found):
        return "none: nothing changes"
    if Effect.SUSPEND in found:
        return "until it is resumed: all pods are deleted"
    if labels.HEAD_GROUP in found.restarts:
        return "until the head and its workers are ready again: all pods are deleted at once"
    if Effect.RECREATE in found:
        return f"of the workers of {', '.join(found.restarts)}, until they are ready again"
    if Effect.ROLLING_WORKERS in found:
        return "none for the cluster: one worker at a time is drained and replaced"
    if Effect.NEW_CLUSTER in found:
        return "none: the cluster that serves goes on until the new one takes over"
    scaled_down = ref.kind != "RayJob" and Effect.SCALE in found
    return "none for pods that stay" if scaled_down else "none"


def _approval(found: Effects) -> Sequence[str]:
    return [f"{change.effect}: {change.path}" for change in found if change.effect in _DISRUPTIVE]


def _base(live: Object | None) -> Object:
    metadata = section(live or {}, "metadata")
    return {name: metadata[name] for name in ("uid", "generation") if name in metadata}


def _shown(base: Object) -> str:
    return f"generation {base.get('generation')} of {base.get('uid')}" if base else "an object that does not exist"


def _named(one: Plan) -> tuple[tuple[str, Amounts], ...]:
    return (("now", one.now), ("after", one.after), ("peak", one.peak))


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amount) for name, amount in sorted(amounts.items())}
