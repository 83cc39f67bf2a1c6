"""Revisions: every generation that was asked for, as a ControllerRevision named by its owner's uid and generation.

Whoever sees a generation first makes it; a second one of the same name is refused by the server, so that nobody has to
agree with anybody. What is stored is the spec as it was asked for; cause, user and outcome are annotations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rayward.changes import pruning
from rayward.changes.outcomes import Conflict, NotFound
from rayward.changes.ownership import AUTOSCALER_MANAGERS
from rayward.changes.refs import Ref, cluster_path, cluster_spec
from rayward.changes.specdiff import spec_diff
from rayward.kinds import labels
from rayward.kinds.effects import differences
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section

KEPT: Final = 20
"""How many revisions of one object are kept."""

OWNER: Final = labels.OWNER_UID
PREDECESSORS: Final = labels.PREDECESSORS
"""On an object that was recreated: the uids of those before it, the oldest first; their revisions are its history."""
CAUSE: Final = labels.CAUSE
USER: Final = labels.USER
MANAGER: Final = labels.FIELD_MANAGER
CHANGED_AT: Final = labels.CHANGED_AT
OUTCOME: Final = labels.OUTCOME
CHANGED: Final = labels.CHANGED
"""The paths that differ from the generation before, as far as that was known."""
DIFF: Final = labels.DIFF
"""The same with the values before and after, as far as they may be shown."""
RESULT: Final = labels.RESULT
"""``Applied`` or ``Failed``, once a generation has ended; the outcome is the reason."""
FAILED: Final = "Failed"
SUPERSEDED: Final = "Superseded"
"""The outcome of a generation that was not true yet when another one was asked for."""
ROLLED_BACK: Final = "RolledBack"
"""The same, where the other one goes back to what was asked for before."""
UNDO: Final = "undo to revision"
"""How the cause of an undo begins."""
_HELD_BACK: Final = frozenset({"Drifted", "TemplateChanged", "UpgradeStrategyNone"})
"""Outcomes of generations that an upgrade strategy kept from being tried."""
DURATION: Final = labels.DURATION

GITOPS: Final = ("argocd", "kustomize-controller", "helm-controller", "flux", "fleet")
"""How the field managers of tools begin that apply from a repository."""

_SIZES: Final = frozenset({"replicas", "minReplicas", "maxReplicas", "scaleStrategy"})
_GROUPS: Final = "workerGroupSpecs"
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Revision:
    """One generation of an object.

    Attributes:
        revision: The generation.
        spec: The spec that was asked for; None for generations that are missing.
        manager: The field manager that wrote it last.
        changed_at: When, as RFC 3339.
        cause: Why, where that was said.
        user: Who, where it was changed by the SDK.
        outcome: How it ended, where that was seen; of one that did not end, ``Superseded`` or ``RolledBack`` by the
            next.
        until: For generations that are missing the last of them; else the same as ``revision``.
        changed: The paths that differ from the generation before.
        diff: The same with the values before and after, a line each.
        result: ``Applied`` or ``Failed``, where its end was seen.
        seconds: How long it took until then.
        earlier: How often the object was recreated since; 0 for the one that lives.
        pruned: Of generations that are missing, whether they were recorded and made room for newer ones; else nobody
            saw them.
    """

    revision: int
    spec: Object | None = None
    manager: str = ""
    changed_at: str = ""
    cause: str = ""
    user: str = ""
    outcome: str = ""
    until: int = 0
    earlier: int = 0
    changed: str = ""
    result: str = ""
    seconds: float = 0.0
    pruned: bool = False
    diff: str = ""

    @property
    def is_gap(self) -> bool:
        """Whether it stands for generations that are missing."""
        return self.spec is None

    @property
    def is_broken(self) -> bool:
        """Whether it was tried and failed; one that a strategy held back was not tried."""
        return self.result == FAILED and self.outcome not in _HELD_BACK

    def document(self) -> Object:
        """For programs; without the spec."""
        return {
            "revision": self.revision,
            "until": self.until or self.revision,
            "gap": self.is_gap,
            "pruned": self.pruned,
            "manager": self.manager,
            "changedAt": self.changed_at,
            "cause": self.cause,
            "user": self.user,
            "outcome": self.outcome,
            "earlier": self.earlier,
            "changed": self.changed,
            "diff": self.diff.splitlines(),
            "result": self.result,
            "seconds": self.seconds,
        }


def manifest_of(ref: Ref, live: Object, *, cause: str = "", user: str = "", before: Object | None = None) -> Object:
    """The ControllerRevision of an object's generation; ``before`` is the spec of the generation before, if known."""
    metadata = section(live, "metadata")
    manager, at = last_writer(live)
    spec = section(live, "spec")
    said = {CAUSE: cause, USER: user, MANAGER: manager, CHANGED_AT: at}
    if before is not None:
        said |= {CHANGED: _changed(before, spec), DIFF: spec_diff(before, spec)}
    uid, generation = str(metadata["uid"]), int(metadata["generation"])
    owner = {"apiVersion": ref.resource.api_version, "kind": ref.kind, "name": ref.name, "uid": uid}
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "name": f"{uid}-{generation}",
            "namespace": ref.namespace,
            "labels": {OWNER: uid},
            "annotations": {name: value for name, value in said.items() if value},
            "ownerReferences": [owner],
        },
        "revision": generation,
        "data": {"spec": spec},
    }


def _changed(before: Object, after: Object) -> str:
    paths = [one.path for one in differences(before, after, ("spec",))]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(paths[:_SHOWN])}{more}"[:1000]


def last_writer(live: Object) -> tuple[str, str]:
    """The manager that wrote the object's spec last, and when."""
    written = [
        entry
        for entry in entries(section(live, "metadata"), "managedFields")
        if not entry.get("subresource") and "f:spec" in section(entry, "fieldsV1")
    ]
    if not written:
        return "", ""
    # times are whole seconds; of several the server lists applies first, and it is the update that came after
    last = max(reversed(written), key=lambda entry: str(entry.get("time") or ""))
    return str(last.get("manager") or ""), str(last.get("time") or "")


def read_revisions(found: Iterable[Object], *, replaced: bool = False) -> tuple[Revision, ...]:
    """Revisions in order, with what is missing as gaps: pruned, or seen by nobody.

    Args:
        found: The ControllerRevisions of one object.
        replaced: Whether another object took its place, so that the newest one is over too.
    """
    items, known = list(found), list[Revision]()
    ranges = pruning.pruned(items)
    for item in items:
        annotations: Any = section(section(item, "metadata"), "annotations")
        known.append(
            Revision(
                int(item.get("revision") or 0),
                section(section(item, "data"), "spec"),
                annotations.get(MANAGER, ""),
                annotations.get(CHANGED_AT, ""),
                annotations.get(CAUSE, ""),
                annotations.get(USER, ""),
                annotations.get(OUTCOME, ""),
                changed=annotations.get(CHANGED, ""),
                diff=annotations.get(DIFF, ""),
                result=annotations.get(RESULT, ""),
                seconds=_seconds(annotations.get(DURATION)),
            )
        )
    known.sort(key=lambda one: one.revision)
    result: list[Revision] = []
    due = 1
    for one in known:
        for first, last, gone in pruning.split(due, one.revision - 1, ranges):
            result.append(Revision(first, until=last, pruned=gone))
        result.append(one)
        due = one.revision + 1
    return with_outcomes(result, replaced=replaced)


def with_outcomes(revisions: Sequence[Revision], *, replaced: bool = False) -> tuple[Revision, ...]:
    """The same, and how those ended that nobody saw the end of, because something else was asked for meanwhile.

    It is read and not noted: the end of a generation may be noted a moment after the next one is asked for.
    """
    result: list[Revision] = []
    for index, one in enumerate(revisions):
        later = revisions[index + 1] if index + 1 < len(revisions) else None
        if one.is_gap or one.outcome or (later is None and not replaced):
            result.append(one)
            continue
        back = later is not None and _goes_back(later, revisions[:index])
        result.append(dataclasses.replace(one, outcome=ROLLED_BACK if back else SUPERSEDED))
    return tuple(result)


def _goes_back(later: Revision, before: Iterable[Revision]) -> bool:
    """Whether a generation is one of those before again; an undo keeps sizes that are newer, and says so itself."""
    if later.spec is None:
        return False
    return later.cause.startswith(UNDO) or any(later.spec == one.spec for one in before)


def _seconds(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def surplus(found: Sequence[Object], kept: int = KEPT) -> tuple[str, ...]:
    """The names of revisions beyond those that are kept, the oldest first.

    What Ray's autoscaler wrote goes before what somebody asked for; the newest is always kept.
    """

    def rank(item: Object) -> tuple[bool, bool, int]:
        number = int(item.get("revision") or 0)
        manager: Any = section(section(item, "metadata"), "annotations").get(MANAGER)
        return number == newest, manager not in AUTOSCALER_MANAGERS, number

    newest = max((int(item.get("revision") or 0) for item in found), default=0)
    ordered = sorted(found, key=rank)
    return tuple(str(section(item, "metadata")["name"]) for item in ordered[: max(len(ordered) - kept, 0)])


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo does.

    Attributes:
        to: The revision it goes back to.
        spec: The spec it makes.
        kept: Sizes that are newer than that revision and stay.
        passed: Later revisions that differ too and were not taken, because they failed.
    """

    to: Revision
    spec: Object
    kept: tuple[str, ...] = ()
    passed: tuple[int, ...] = ()


def undo_of(ref: Ref, live: Object, revisions: Sequence[Revision], to: int | None = None) -> Undo:
    """The spec that an undo makes.

    Without ``to`` it goes back to the last revision whose spec is another one and that has not failed; the failure of a
    RayJob is one of its program, and does not count. Sizes that were changed since are kept, unless nothing but sizes
    was changed: then they are what is undone.

    Raises:
        NotFound: There is no such revision, or nothing to go back to.
    """
    spec, generation = section(live, "spec"), int(section(live, "metadata").get("generation") or 0)
    known = [one for one in revisions if one.spec is not None]
    listed = ", ".join(str(one.revision) for one in known) or "none"
    passed: tuple[int, ...] = ()
    if to is not None:
        target = next((one for one in known if one.revision == to), None)
        if target is None:
            what = f"{ref} has no revision {to}"
            raise NotFound(what, f"revisions: {listed}", f"rayward history {ref}", object=str(ref))
    else:
        before = [one for one in known if one.revision < generation and one.spec != spec]
        if not before:
            what = f"{ref} has nothing to go back to"
            raise NotFound(what, f"no recorded revision differs: {listed}", f"rayward history {ref}", object=str(ref))
        good = [one for one in before if ref.kind == "RayJob" or not one.is_broken]
        if not good:
            what = f"{ref} has nothing to go back to: each revision that differs failed"
            why = "\n".join(f"revision {one.revision}: {one.outcome or one.result}" for one in before)
            following = (
                f"correct it and apply; or try one again: rayward undo {ref} --to-revision {before[-1].revision}"
            )
            raise NotFound(what, why, following, object=str(ref))
        target = good[-1]
        passed = tuple(one.revision for one in before if one.revision > target.revision)
    assert target.spec is not None
    changed = list(differences(spec, target.spec))
    only_sizes = all(one.segments[-1] in _SIZES for one in changed)
    if only_sizes:
        return Undo(target, target.spec, passed=passed)
    wanted, kept = _with_sizes(ref.kind, target.spec, spec)
    return Undo(target, wanted, kept, passed)


def refuse_gitops(ref: Ref, live: Object, undo: Undo) -> None:
    """Raise where a tool applies these fields from a repository: it would apply them again.

    Raises:
        Conflict: One does.
    """
    managers = sorted(
        {
            str(entry.get("manager"))
            for entry in entries(section(live, "metadata"), "managedFields")
            if str(entry.get("manager") or "").startswith(GITOPS) and "f:spec" in section(entry, "fieldsV1")
        }
    )
    if not managers:
        return
    paths = [one.path for one in differences(section(live, "spec"), undo.spec, ("spec",))]
    what = f"{', '.join(managers)} applies the spec of {ref} and would undo the undo"
    why = f"to go back to revision {undo.to.revision} revert in its repository:\n" + "\n".join(paths[:20])
    following = "revert there; or undo here anyway: --override-gitops"
    raise Conflict(what, why, following, object=str(ref), field=paths[0] if paths else "")


def _with_sizes(kind: str, target: Object, live: Object) -> tuple[Object, tuple[str, ...]]:
    sizes = {group.get("groupName"): group for group in entries(cluster_spec(kind, {"spec": live}), _GROUPS)}
    kept: list[str] = []
    groups: list[Object] = []
    for group in entries(cluster_spec(kind, {"spec": target}), _GROUPS):
        now = sizes.get(group.get("groupName"))
        merged = dict(group)
        for name in sorted(_SIZES) if now else ():
            if now is not None and now.get(name) != group.get(name):
                kept.append(f"{group['groupName']}.{name}={now.get(name)}")
                merged[name] = now.get(name)
        groups.append({name: value for name, value in merged.items() if value is not None})
    if not kept:
        return target, ()
    *way, _ = path = (*cluster_path(kind)[1:], _GROUPS)
    result: Object = dict(target)
    at = result
    for name in way:
        at[name] = dict(at[name])
        at = at[name]
    at[path[-1]] = groups
    return result, tuple(kept)
