"""Four ways to write an object, as operations: server-side apply, merge patch, JSON patch, and replace."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from rayward.changes.compiler import compile_patch
from rayward.changes.intents import Intent
from rayward.changes.mergeguard import refuse_loss
from rayward.changes.outcomes import Conflict, Invalid
from rayward.changes.ownership import FieldConflict, conflict_error, conflicts_of, only_autoscaler, with_live_sizes
from rayward.changes.refs import Ref
from rayward.changes.steps import Backoff, Operation, Send
from rayward.changes.writtenback import meant
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import PatchOptions, PatchType, WriteOptions
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.machinery.patch import json_patch as json_patch_text
from rayward.kube.machinery.patch.error import PatchError

MANAGER: Final = "rayward"
_SHOWN: Final = 300
ATTEMPTS: Final = 10
"""How often a write is tried while others write too."""
_MISFIT: Final = "the server rejected our request due to an error in our request"
"""What Kubernetes says when an operation of a JSON patch, a test among them, does not fit the object."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did.

    Attributes:
        object: The object as the server has it now.
        before: The object as it was; None where it was created, or was not read.
        attempts: How often it was tried: more than 1 means that others wrote at the same time.
        taken: Fields that were taken from other managers.
        patch: The patch that was sent, where it was compiled.
        notes: What did not go as it should and does not matter to the change itself.
    """

    object: Object
    before: Object | None = None
    attempts: int = 1
    taken: tuple[FieldConflict, ...] = ()
    patch: tuple[Object, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the object is another one than before."""
        return self.before is None or _essence(self.before) != _essence(self.object)


def read(ref: Ref) -> Operation[Object]:
    """The object as it is."""
    answer: Object = yield Send(verbs.get(ref.resource, ref.name, ref.namespace))
    return answer


def read_or_none(ref: Ref) -> Operation[Object | None]:
    """The object as it is; None where it is not there."""
    try:
        answer: Object = yield Send(verbs.get(ref.resource, ref.name, ref.namespace))
    except errors.NotFound:
        return None
    return answer


def apply(
    ref: Ref,
    wanted: Object,
    *,
    manager: str = MANAGER,
    force: bool = False,
    dry_run: bool = False,
    expect: Callable[[Object | None], None] | None = None,
) -> Operation[Written]:
    """Server-side apply.

    Sizes that Ray's autoscaler owns are kept, and the list that holds them is taken from the autoscaler's manager, and
    from no other, under a guard on the resource version. So are fields that this very manager wrote otherwise,
    and those that an operator wrote back in another spelling.

    Args:
        ref: The object.
        wanted: The manifest.
        manager: The field manager.
        force: Take fields from other managers.
        dry_run: Ask, and change nothing.
        expect: Is given the object as it is, and raises where it should not be written; nothing is written but what it
            was given.

    Raises:
        Conflict: Another manager owns a field and ``force`` is not set, or others wrote at every attempt.
    """
    for attempt in range(1, ATTEMPTS + 1):
        live = yield from read_or_none(ref)
        body = _body(ref, wanted)
        guarded = sized = False
        if expect is not None:
            expect(live)
        if live is not None:
            filled = with_live_sizes(ref.kind, body, live)
            # the guard is needed where the live sizes are the manifest's too: they may move until it is written
            sized = filled is not body
            guarded = sized or expect is not None
            if guarded:
                version = section(live, "metadata").get("resourceVersion")
                body = {**filled, "metadata": {**section(filled, "metadata"), "resourceVersion": version}}
        # nothing guards what is not there yet: whoever makes it meanwhile keeps what is theirs
        forced = force and (live is not None or expect is None)
        try:
            answer = yield from _applied(ref, body, manager, force=forced, dry_run=dry_run)
        except errors.Conflict as error:
            owned = conflicts_of(error, live or {}, body)
            if (not owned and guarded) or (force and not forced):
                yield Backoff(attempt)
                continue
            if not owned:
                raise
            # what this manager wrote by a patch or a replace, such as an undo, is its own to apply again
            others = tuple(row for row in owned if row.manager != manager)
            others = yield from meant(ref, live or {}, body, others, manager)
            if others and not (sized and only_autoscaler(ref.kind, others)):
                raise conflict_error(ref, others) from error
            version = section(live or {}, "metadata").get("resourceVersion")
            body = {**body, "metadata": {**section(body, "metadata"), "resourceVersion": version}}
            try:
                answer = yield from _applied(ref, body, manager, force=True, dry_run=dry_run)
            except errors.Conflict:
                yield Backoff(attempt)
                continue
            return Written(answer, live, attempt, owned)
        taken: tuple[FieldConflict, ...] = ()
        if force and live is not None:
            taken = _taken(live, answer, manager)
        return Written(answer, live, attempt, taken)
    raise _exhausted(ref)


def merge_patch(ref: Ref, patch: Object, *, manager: str = MANAGER, dry_run: bool = False) -> Operation[Written]:
    """JSON merge patch; one that would drop items or fields from a list is refused.

    Raises:
        Invalid: It would drop something.
        Conflict: Others wrote at every attempt.
    """
    for attempt in range(1, ATTEMPTS + 1):
        live = yield from read(ref)
        refuse_loss(ref, live, patch)
        version = section(live, "metadata").get("resourceVersion")
        # what was looked at is what is patched
        metadata = {**section(patch, "metadata"), "resourceVersion": version}
        options = PatchOptions(field_manager=manager, dry_run=dry_run, field_validation="Strict")
        body = {**patch, "metadata": metadata}
        try:
            answer: Object = yield Send(
                verbs.patch(ref.resource, ref.name, body, PatchType.MERGE, ref.namespace, **options)
            )
        except errors.Conflict:
            yield Backoff(attempt)
            continue
        return Written(answer, live, attempt)
    raise _exhausted(ref)


def json_patch(
    ref: Ref, operations: Iterable[Object], *, manager: str = MANAGER, dry_run: bool = False
) -> Operation[Written]:
    """JSON patch as it is given; nothing is tried again, for only its author knows what an index meant.

    Raises:
        Invalid: An operation does not fit the object, or admission rejects the result.
    """
    live = yield from read(ref)
    given = list(operations)
    try:
        answer = yield from _patched(ref, given, manager, dry_run=dry_run)
    except errors.Invalid as error:
        if error.message != _MISFIT:
            raise
        following = f"rayward get {ref.kind.lower()} {ref.name} -o yaml   # shows what there is"
        moved = Invalid(f"the patch did not fit {ref} as it was: nothing was changed", "", following, object=str(ref))
        raise (_misfit(ref, live, given) or moved) from error
    return Written(answer, live, patch=tuple(given))


def change(
    ref: Ref,
    intents: Iterable[Intent],
    *,
    manager: str = MANAGER,
    dry_run: bool = False,
    override_autoscaler: bool = False,
) -> Operation[Written]:
    """Compile intents to a guarded patch and send it; compiled again where the object has moved.

    Raises:
        NotFound, Invalid: The intents do not fit the object.
        Conflict: Others wrote at every attempt.
    """
    wanted = tuple(intents)
    live = yield from read(ref)
    for attempt in range(1, ATTEMPTS + 1):
        compiled = compile_patch(ref.kind, live, wanted, override_autoscaler=override_autoscaler)
        if not compiled.operations:
            return Written(live, live, attempt)
        try:
            answer = yield from _patched(ref, list(compiled.operations), manager, dry_run=dry_run)
        except (errors.Conflict, errors.Invalid) as error:
            # a test that failed and a value that admission rejects are both 422; only the latter is for the user
            if isinstance(error, errors.Invalid) and error.message != _MISFIT:
                raise
            yield Backoff(attempt)
            if (wrong := _misfit(ref, live, compiled.operations)) is not None:
                # it does not fit what it was made for, so the next attempt would end the same
                raise wrong from error
            live = yield from read(ref)
            continue
        return Written(answer, live, attempt, patch=compiled.operations)
    raise _exhausted(ref)


def replace(
    ref: Ref, mutate: Callable[[Object], Object | None], *, manager: str = MANAGER, dry_run: bool = False
) -> Operation[Written]:
    """Get, mutate, replace, with the resource version kept.

    Args:
        ref: The object.
        mutate: Changes the object it is given, or gives back another one. It is called again, on the object as it is
            by then, each time that somebody else was faster.
        manager: The field manager.
        dry_run: Ask, and change nothing.

    Raises:
        Conflict: Others wrote at every attempt.
    """
    for attempt in range(1, ATTEMPTS + 1):
        live = yield from read(ref)
        given: Any = copy.deepcopy(live)
        changed = mutate(given) or given
        metadata = {**section(changed, "metadata"), "resourceVersion": live["metadata"]["resourceVersion"]}
        options = WriteOptions(field_manager=manager, dry_run=dry_run, field_validation="Strict")
        body = {**changed, "metadata": metadata}
        try:
            answer: Object = yield Send(verbs.update(ref.resource, body, ref.name, ref.namespace, **options))
        except errors.Conflict:
            yield Backoff(attempt)
            continue
        return Written(answer, live, attempt)
    raise _exhausted(ref)


def with_manifest(live: Object, manifest: Object) -> Object:
    """A manifest in the place of an object, for ``replace``; what only the server and owners write is kept."""
    kept = ("uid", "creationTimestamp", "generation", "managedFields", "ownerReferences", "finalizers")
    metadata = {**section(manifest, "metadata"), "namespace": section(live, "metadata").get("namespace")}
    for name in kept:
        metadata.pop(name, None)
        if name in section(live, "metadata"):
            metadata[name] = live["metadata"][name]
    status = {"status": live["status"]} if "status" in live else {}
    return {**{name: value for name, value in manifest.items() if name != "status"}, "metadata": metadata, **status}


def _applied(ref: Ref, body: Object, manager: str, *, force: bool, dry_run: bool) -> Operation[Object]:
    options = PatchOptions(field_manager=manager, force=force, dry_run=dry_run, field_validation="Strict")
    answer: Object = yield Send(verbs.patch(ref.resource, ref.name, body, PatchType.APPLY, ref.namespace, **options))
    return answer


def _patched(ref: Ref, operations: list[Object], manager: str, *, dry_run: bool) -> Operation[Object]:
    options = PatchOptions(field_manager=manager, dry_run=dry_run, field_validation="Strict")
    answer: Object = yield Send(
        verbs.patch(ref.resource, ref.name, operations, PatchType.JSON, ref.namespace, **options)
    )
    return answer


def _body(ref: Ref, wanted: Object) -> Object:
    metadata = section(wanted, "metadata")
    dropped = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp")
    kept = {name: value for name, value in metadata.items() if name not in dropped}
    body = {name: value for name, value in wanted.items() if name != "status"}
    return {**body, "metadata": {**kept, "name": ref.name, "namespace": ref.namespace}}


def _taken(live: Object, after: Object, manager: str) -> tuple[FieldConflict, ...]:
    """What a forced apply took: fields that others owned before and that we own alone now."""
    from rayward.changes.managed import owners

    before, now = owners(live), owners(after)
    return tuple(
        FieldConflict(field, other, None, None)
        for field, managers in before.items()
        for other in sorted(managers - {manager})
        if other not in now.get(field, frozenset()) and manager in now.get(field, frozenset())
    )


def _misfit(ref: Ref, live: Object, operations: Sequence[Object]) -> Invalid | None:
    """Which operation of a JSON patch the object does not fit, for the server does not say; None where all do."""
    following = f"rayward get {ref.kind.lower()} {ref.name} -o yaml   # shows what there is"
    doc: Any = live
    for number, operation in enumerate(operations, 1):
        try:
            doc = json_patch_text.apply(doc, [operation])
        except PatchError as error:
            what = f"operation {number} of the patch does not fit {ref}: nothing was changed"
            why = f"{orjson.dumps(operation).decode()[:_SHOWN]}: {error.detail}"
            return Invalid(what, why, following, object=str(ref), field=str(operation.get("path") or ""))
    return None


def _exhausted(ref: Ref) -> Conflict:
    what = f"{ref} was changed by others at each of {ATTEMPTS} attempts"
    return Conflict(what, "", "try again; rayward history shows who writes", object=str(ref))


def _essence(obj: Object) -> Object:
    metadata = {
        name: value
        for name, value in section(obj, "metadata").items()
        if name not in ("managedFields", "resourceVersion", "generation")
    }
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}
