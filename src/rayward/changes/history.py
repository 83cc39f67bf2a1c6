"""History and undo on a server, as operations."""

from __future__ import annotations

import dataclasses
from contextlib import suppress

from rayward.changes import pruning, writing
from rayward.changes.diffing import diff
from rayward.changes.outcomes import Conflict, NotFound
from rayward.changes.refs import Ref
from rayward.changes.revisions import (
    CAUSE,
    DURATION,
    FAILED,
    OUTCOME,
    OWNER,
    PREDECESSORS,
    RESULT,
    UNDO,
    USER,
    Revision,
    Undo,
    last_writer,
    manifest_of,
    read_revisions,
    refuse_gitops,
    surplus,
    undo_of,
)
from rayward.changes.steps import Operation, Send
from rayward.changes.writing import Written
from rayward.kube.client import errors, verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError


def record(ref: Ref, live: Object, *, cause: str = "", user: str = "", before: Object | None = None) -> Operation[str]:
    """Make the revision of a generation, unless it is there; what stood in the way, in words, else nothing.

    A change is never refused because its history cannot be written.
    """
    body = manifest_of(ref, live, cause=cause, user=user, before=None if before is None else section(before, "spec"))
    try:
        yield Send(verbs.create(CONTROLLER_REVISIONS, body, ref.namespace, field_manager=writing.MANAGER))
    except errors.AlreadyExists:
        # the operator was faster, and knows neither why nor who
        yield from _note(ref, body, {CAUSE: cause, USER: user})
        return ""
    except ApiError as error:
        return f"revision {body['revision']} of {ref} was not recorded: {error.message}"
    found = yield from stored(ref, live)
    names = surplus(found)
    if names:
        # before they go: killed in between, a history names them and shows those that are still there
        newest = max(found, key=lambda one: int(one.get("revision") or 0))
        yield from _note(ref, newest, {pruning.PRUNED: pruning.with_pruned(found, names)})
    for name in names:
        try:
            yield Send(verbs.delete(CONTROLLER_REVISIONS, name, ref.namespace))
        except ApiError:
            # somebody else prunes too
            continue
    return ""


def record_outcome(ref: Ref, live: Object, outcome: str, seconds: float, *, failed: bool = False) -> Operation[None]:
    """Note how a generation ended, where it is recorded."""
    result = FAILED if failed else "Applied"
    annotations = {OUTCOME: outcome, DURATION: f"{seconds:.1f}", RESULT: result}
    yield from _note(ref, manifest_of(ref, live), annotations)


def _note(ref: Ref, revision: Object, annotations: dict[str, str]) -> Operation[None]:
    body = {"metadata": {"annotations": {name: value for name, value in annotations.items() if value}}}
    if not body["metadata"]["annotations"]:
        return
    name = str(section(revision, "metadata")["name"])
    try:
        yield Send(verbs.patch(CONTROLLER_REVISIONS, name, body, PatchType.MERGE, ref.namespace))
    except (ApiError, NetworkError):
        # history is a record and never a reason to fail
        return


def history(ref: Ref) -> Operation[tuple[Revision, ...]]:
    """All revisions, the oldest first; the live generation is recorded where nobody has yet."""
    live = yield from writing.read(ref)
    yield from record(ref, live)
    found = yield from stored(ref, live)
    before = yield from _of_predecessors(ref, live)
    return (*before, *read_revisions(found))


def undo(
    ref: Ref,
    *,
    to: int | None = None,
    override_gitops: bool = False,
    dry_run: bool = False,
    manager: str = writing.MANAGER,
    user: str = "",
    generation: int | None = None,
) -> Operation[tuple[Undo, Written]]:
    """Go back to an earlier revision; sizes that are newer stay.

    Args:
        ref: The object.
        to: The revision to go back to.
        override_gitops: Go back where a tool applies the spec from a repository, too.
        dry_run: Ask, and change nothing.
        manager: The field manager.
        user: Who; kept with the revision.
        generation: The one that is undone: no other is, whoever wrote it.

    Raises:
        NotFound: There is none.
        Conflict: A tool applies the spec from a repository, another generation than the given one was asked for, or
            others wrote at every attempt.
    """
    live = yield from writing.read(ref)
    _refuse_newer(ref, live, generation)
    yield from record(ref, live)
    found = yield from stored(ref, live)
    chosen = undo_of(ref, live, read_revisions(found), to)
    if not override_gitops:
        refuse_gitops(ref, live, chosen)
    last: list[Undo] = [chosen]

    def mutate(obj: Object) -> None:
        _refuse_newer(ref, obj, generation)
        # sizes may have moved since: they are kept as they are now
        last[0] = dataclasses.replace(undo_of(ref, obj, (chosen.to,), chosen.to.revision), passed=chosen.passed)
        obj["spec"] = last[0].spec

    written = yield from writing.replace(ref, mutate, manager=manager, dry_run=dry_run)
    if not dry_run and written.changed:
        cause = f"{UNDO} {chosen.to.revision}"
        with suppress(NetworkError):
            # what was written stays so: whoever undoes it again would find a newer generation
            yield from record(ref, written.object, cause=cause, user=user, before=written.before)
    return last[0], written


def _refuse_newer(ref: Ref, live: Object, generation: int | None) -> None:
    """Refuse to undo what somebody asked for after the generation that is to be undone."""
    now = int(section(live, "metadata").get("generation") or 0)
    if generation is None or now == generation:
        return
    manager, at = last_writer(live)
    what = f"generation {generation} of {ref} is not undone: generation {now} has been asked for since"
    why = f"written by {manager or 'an unknown manager'} at {at or 'an unknown time'}; going back would lose that edit"
    raise Conflict(what, why, f"rayward history {ref}", object=str(ref))


def compare_revisions(ref: Ref, one: int, other: int | None = None) -> Operation[str]:
    """The diff between two revisions, or between one and the live object.

    Raises:
        NotFound: There is no such revision.
    """
    live = yield from writing.read(ref)
    before, *others = yield from _specs(ref, live, one, *(() if other is None else (other,)))
    after = others[0] if others else section(live, "spec")
    new = f"live/{ref}" if other is None else f"revision {other} of {ref}"
    return diff({"spec": before}, {"spec": after}, old=f"revision {one} of {ref}", new=new)


def compare_manifest(ref: Ref, wanted: Object, revision: int, *, manager: str = writing.MANAGER) -> Operation[str]:
    """The diff between a revision and what applying a manifest would make of the object; nothing is changed.

    Raises:
        NotFound: There is no such revision, or no such object.
        Invalid: The server rejects the manifest.
    """
    live = yield from writing.read(ref)
    (before,) = yield from _specs(ref, live, revision)
    asked = yield from writing.apply(ref, wanted, manager=manager, force=True, dry_run=True)
    after = section(asked.object, "spec")
    return diff({"spec": before}, {"spec": after}, old=f"revision {revision} of {ref}", new=f"wanted/{ref}")


def _specs(ref: Ref, live: Object, *revisions: int) -> Operation[list[Object]]:
    found = yield from stored(ref, live)
    specs = {revision.revision: revision.spec for revision in read_revisions(found) if revision.spec is not None}
    for wanted in revisions:
        if wanted not in specs:
            listed = ", ".join(map(str, specs)) or "none"
            raise NotFound(f"{ref} has no revision {wanted}", f"revisions: {listed}", f"rayward history {ref}")
    return [specs[wanted] for wanted in revisions]


def stored(ref: Ref, live: Object) -> Operation[list[Object]]:
    """The ControllerRevisions of an object."""
    selector = f"{OWNER}={section(live, 'metadata')['uid']}"
    answer: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, ref.namespace, label_selector=selector))
    return entries(answer, "items")


def _of_predecessors(ref: Ref, live: Object) -> Operation[tuple[Revision, ...]]:
    """The revisions of objects that this one was recreated from, the oldest first."""
    uids = [
        one for one in str(section(section(live, "metadata"), "annotations").get(PREDECESSORS) or "").split(",") if one
    ]
    found: list[Revision] = []
    for index, uid in enumerate(uids):
        answer: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, ref.namespace, label_selector=f"{OWNER}={uid}"))
        earlier, items = len(uids) - index, entries(answer, "items")
        found += [dataclasses.replace(one, earlier=earlier) for one in read_revisions(items, replaced=True)]
    return tuple(found)
