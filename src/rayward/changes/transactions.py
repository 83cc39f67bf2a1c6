"""Suspend, change, resume as one transaction that can be killed anywhere and run again.

Two writes make it. The first suspends the object, changes it and notes the transaction in an annotation, all in one
patch; the second resumes it and removes the note, guarded by the note's text. Between the two the object itself says
what is pending, so whoever runs the verb again goes on from there, or undoes it: the revision from before is recorded
ahead of the first write, and the note names it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from rayward.changes import history, waiting, writing
from rayward.changes.intents import Annotate, Intent, Suspend
from rayward.changes.judging import Verdict
from rayward.changes.merging import merged
from rayward.changes.outcomes import Conflict, Invalid, JobFailed, NotFound
from rayward.changes.pointers import pointer
from rayward.changes.refs import Ref
from rayward.changes.revisions import Revision, read_revisions
from rayward.changes.steps import Backoff, Operation
from rayward.changes.writing import Written
from rayward.kinds import labels
from rayward.kinds.effects import Effect, Rules, effects
from rayward.kube.client import errors
from rayward.kube.machinery.jsonvalue import Object, section

Verb = Literal["reassemble", "edit"]
Tell = Callable[[Verdict], None]

VERBS: Final[dict[str, Verb]] = {"RayCluster": "reassemble", "RayJob": "edit"}


@dataclass(frozen=True, slots=True)
class Pending:
    """A transaction that has suspended its object and not resumed it yet.

    Attributes:
        verb: Which one.
        revision: The generation before it.
        text: The note, as it is on the object.
    """

    verb: Verb
    revision: int
    text: str


def pending_of(live: Object) -> Pending | None:
    """The transaction that an object is in the middle of."""
    text: Any = section(section(live, "metadata"), "annotations").get(labels.TRANSACTION)
    if not text:
        return None
    try:
        note: Any = orjson.loads(text)
        return Pending(note["verb"], int(note["revision"]), str(text))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        what = f"the annotation {labels.TRANSACTION} cannot be read"
        raise Invalid(what, str(text)[:200], "remove it, and resume the object: rayward resume KIND/NAME") from None


def run_transaction(
    ref: Ref,
    settings: Sequence[Intent],
    *,
    rules: Rules = Rules.RAYWARD,
    manager: str = writing.MANAGER,
    cause: str = "",
    user: str = "",
    timeout: float = 600.0,
    tell: Tell | None = None,
) -> Operation[Written]:
    """Suspend, change and resume; a transaction that is pending is finished, with the settings added to it.

    Settings that the object has already, and no pending transaction, leave it alone.

    Raises:
        Invalid: The object cannot be suspended; nothing was written.
        WaitTimeout: It is not suspended in time; it stays in the transaction, and running the verb again goes on.
        Conflict: Others write at every attempt, or somebody else resumed it meanwhile.
    """
    verb = _verb_of(ref)
    before = yield from writing.read(ref)
    pending = pending_of(before)
    begun: Written | None = None
    if pending is None:
        asked = yield from _asks_something(ref, before, settings, manager)
        if settings and not asked:
            return Written(before, before)
        if verb == "edit" and not settings:
            raise Invalid(
                f"there is nothing to edit in {ref}", "no setting was given", f"rayward edit {ref} entrypoint=…"
            )
        _refuse_unsuspendable(ref, before, rules)
        if section(before, "spec").get("suspend"):
            # it has no pods: the change is all there is to do, and it stays suspended as it was
            written = yield from writing.change(ref, settings, manager=manager)
            yield from history.record(ref, before)
            yield from history.record(ref, written.object, cause=cause or verb, user=user)
            return written
        yield from history.record(ref, before)
        note = orjson.dumps({"verb": verb, "revision": int(before["metadata"]["generation"])}).decode()
        first: tuple[Intent, ...] = (*settings, Suspend(), Annotate(labels.TRANSACTION, note))
        begun = yield from writing.change(ref, first, manager=manager, override_autoscaler=True)
        pending = pending_of(begun.object)
    elif settings:
        begun = yield from writing.change(ref, settings, manager=manager, override_autoscaler=True)
    if begun is not None and begun.changed:
        # what an undo takes back, and what of others' edits it leaves, is read from here
        yield from history.record(ref, begun.object, cause=_begun(verb), user=user)
    if pending is None:
        raise Conflict(f"{ref} was resumed by another user", "", f"rayward {verb} {ref}", object=str(ref))
    at = (begun or Written(before)).object
    try:
        yield from _until_suspended(ref, at, timeout, tell)
    except JobFailed:
        # it ended before it could be suspended: nothing is left to resume, and no note may stay
        yield from _resume(ref, pending, manager)
        raise
    done = yield from _resume(ref, pending, manager)
    yield from history.record(ref, done.object, cause=cause or verb, user=user)
    return Written(done.object, before, done.attempts)


def undo_transaction(ref: Ref, *, manager: str = writing.MANAGER, user: str = "") -> Operation[Written]:
    """Take a pending transaction back: the spec from before it with what others edited since, and resumed.

    Raises:
        NotFound: No transaction is pending, or the revision from before it is gone.
    """
    verb = _verb_of(ref)
    live = yield from writing.read(ref)
    pending = pending_of(live)
    if pending is None:
        raise NotFound(
            f"{ref} is in no transaction", f"it has no annotation {labels.TRANSACTION}", f"rayward undo {ref}"
        )
    found = yield from history.stored(ref, live)
    known = read_revisions(found)
    spec = next((one.spec for one in known if one.revision == pending.revision), None)
    if spec is None:
        what = f"revision {pending.revision} of {ref}, from before the transaction, is not recorded"
        raise NotFound(what, "", f"rayward {verb} {ref}   # finishes it instead", object=str(ref))
    notes: tuple[str, ...] = ()

    def mutate(obj: Object) -> None:
        nonlocal notes
        obj["spec"], notes = _taken_back(pending, spec, known, obj)
        section(obj["metadata"], "annotations").pop(labels.TRANSACTION, None)

    done = yield from writing.replace(ref, mutate, manager=manager)
    yield from history.record(ref, done.object, cause=f"undo of {verb}", user=user)
    return Written(done.object, live, done.attempts, notes=notes)


def _begun(verb: Verb) -> str:
    """The cause that is recorded with what a transaction itself writes before it resumes the object."""
    return f"{verb}: suspended to be changed"


def _taken_back(
    pending: Pending, spec: Object, known: Sequence[Revision], obj: Object
) -> tuple[Object, tuple[str, ...]]:
    """The spec from before a transaction with what others have edited since; and in words what of that is lost."""
    live = section(obj, "spec")
    since = [one for one in known if one.revision > pending.revision and one.spec is not None]
    first = since[0].revision if since else int(section(obj, "metadata").get("generation") or 0)
    result: Any = spec
    last: Object = spec
    lost: list[str] = []
    for edited, cause in (*((one.spec or {}, one.cause) for one in since), (live, "")):
        begins = bool(edited.get("suspend")) and not last.get("suspend")
        if not begins and cause != _begun(pending.verb):
            result, without_place = merged(last, result, edited)
            lost += without_place
        last = edited
    notes = [f"an edit of spec.{path} since revision {pending.revision} is undone too" for path in lost]
    if first > pending.revision + 1:
        notes.append(f"revisions before {first} were not recorded: what was edited in them is undone too")
    return result, tuple(notes)


def _verb_of(ref: Ref) -> Verb:
    if ref.kind not in VERBS:
        why = "a RayService is changed beside what serves, without being suspended"
        raise Invalid(f"a {ref.kind} is not suspended to be changed", why, f"rayward upgrade {ref}", object=str(ref))
    return VERBS[ref.kind]


def _asks_something(ref: Ref, live: Object, settings: Sequence[Intent], manager: str) -> Operation[bool]:
    """Whether the settings differ from what is there; the server says so, who knows the defaults."""
    if not settings:
        return True
    asked = yield from writing.change(ref, settings, manager=manager, dry_run=True, override_autoscaler=True)
    return section(asked.object, "spec") != section(live, "spec")


def _refuse_unsuspendable(ref: Ref, live: Object, rules: Rules) -> None:
    wanted = {**live, "spec": {**section(live, "spec"), "suspend": True}}
    if section(live, "spec").get("suspend"):
        return
    for change in effects(ref.kind, live, wanted, rules):
        if change.effect is not Effect.SUSPEND:
            what = f"{ref} cannot be suspended, so nothing was written: {change.why}"
            following = f"rayward rerun {ref}" if ref.kind == "RayJob" else f"rayward describe {ref}"
            raise Invalid(what, "", following, object=str(ref), field=change.path)


def _until_suspended(ref: Ref, at: Object, timeout: float, tell: Tell | None) -> Operation[None]:
    generation = int(at["metadata"]["generation"])
    for attempt in range(1, writing.ATTEMPTS + 1):
        try:
            yield from waiting.wait(ref, generation, timeout=timeout, tell=tell)
        except Conflict:
            # somebody edits it meanwhile: what counts is whether it is still to be suspended
            live = yield from writing.read(ref)
            if not section(live, "spec").get("suspend"):
                raise
            generation = int(live["metadata"]["generation"])
            yield Backoff(attempt)
            continue
        return


def _resume(ref: Ref, pending: Pending, manager: str) -> Operation[Written]:
    place = pointer(("metadata", "annotations", labels.TRANSACTION))
    operations: list[Object] = [
        {"op": "test", "path": place, "value": pending.text},
        {"op": "add", "path": "/spec/suspend", "value": False},
        {"op": "remove", "path": place},
    ]
    for attempt in range(1, writing.ATTEMPTS + 1):
        try:
            done = yield from writing.json_patch(ref, operations, manager=manager)
        except (Invalid, errors.Invalid, errors.Conflict):
            live = yield from writing.read(ref)
            if pending_of(live) != pending:
                # another run of the verb was faster
                return Written(live, live)
            yield Backoff(attempt)
            continue
        return done
    raise Conflict(
        f"{ref} was changed by others at each of {writing.ATTEMPTS} attempts", "", f"rayward {pending.verb} {ref}"
    )
