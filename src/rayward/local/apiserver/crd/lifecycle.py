"""The life of a CRD: names accepted, established, served, and when it goes, its objects with it.

Decisions about names and conditions are pure; ``Lifecycle`` carries them out inside the server, because a CRD must be
served before its Established condition can be read.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from rayward.kube.machinery.apply import track_update
from rayward.kube.machinery.jsonvalue import entries, is_list, section
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.crd.custom import resources_of
from rayward.local.apiserver.crd.definition import CLEANUP_FINALIZER, condition, is_true
from rayward.local.apiserver.objects import encode, stamp
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.verbs.delete import DeleteOptions, deleted
from rayward.local.store import Conflict, Event, Record

PREFIX = "/customresourcedefinitions.apiextensions.k8s.io/"
_log = logging.getLogger(__name__)


def decide(crd: Object, others: Iterable[Object], now: str) -> Object | None:
    """The CRD's next status, or None if it is as it should be."""
    if crd["metadata"].get("deletionTimestamp"):
        return None
    accepted, accepted_condition = _accept_names(crd, others)
    current = section(crd, "status")
    conditions: list[Object] = [*entries(current, "conditions")]
    changed = current.get("acceptedNames") != accepted
    changed |= _set_condition(conditions, accepted_condition, now)
    if accepted_condition["status"] == "True" and not is_true(crd, "Established"):
        established = {
            "type": "Established",
            "status": "True",
            "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted",
        }
        changed |= _set_condition(conditions, established, now)
    elif not condition(crd, "Established") and accepted_condition["status"] != "True":
        refused = {
            "type": "Established",
            "status": "False",
            "reason": "NotAccepted",
            "message": "not all names are accepted",
        }
        changed |= _set_condition(conditions, refused, now)
    if not changed:
        return None
    return {**current, "acceptedNames": accepted, "conditions": conditions}


def _accept_names(crd: Object, others: Iterable[Object]) -> tuple[Object, Object]:
    wanted, spec = crd["spec"]["names"], crd["spec"]
    have = section(section(crd, "status"), "acceptedNames")
    taken_resources: set[str] = set()
    taken_kinds: set[str] = set()
    for other in others:
        names = section(section(other, "status"), "acceptedNames")
        if other["spec"]["group"] == spec["group"] and other["metadata"]["name"] != crd["metadata"]["name"]:
            taken_resources |= {names.get("plural", ""), names.get("singular", ""), *entries(names, "shortNames")}
            taken_kinds |= {names.get("kind", ""), names.get("listKind", "")}
    accepted: Object = {**have, "plural": have.get("plural", ""), "kind": have.get("kind", "")}
    problem: tuple[str, str] | None = None
    checks = (
        ("plural", "PluralConflict", taken_resources),
        ("singular", "SingularConflict", taken_resources),
        ("shortNames", "ShortNamesConflict", taken_resources),
        ("kind", "KindConflict", taken_kinds),
        ("listKind", "ListKindConflict", taken_kinds),
    )
    for field, reason, taken in checks:
        asked: Any = wanted.get(field)
        clashes = [name for name in (asked if is_list(asked) else [asked]) if name in taken]
        if clashes and asked != have.get(field):
            shown = [f'"{name}" is already in use' for name in clashes]
            problem = (reason, shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]")
        elif asked:
            accepted[field] = asked
        else:
            accepted.pop(field, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    else:
        accepted.pop("categories", None)
    if problem is not None:
        return accepted, {"type": "NamesAccepted", "status": "False", "reason": problem[0], "message": problem[1]}
    good = {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"}
    return accepted, good


def _set_condition(conditions: list[Object], wanted: Object, now: str) -> bool:
    for i, present in enumerate(conditions):
        if present["type"] == wanted["type"]:
            if {k: present.get(k) for k in wanted} == wanted:
                return False
            moved = now if present["status"] != wanted["status"] else present["lastTransitionTime"]
            conditions[i] = {**wanted, "lastTransitionTime": moved}
            return True
    conditions.append({**wanted, "lastTransitionTime": now})
    return True


class Lifecycle:
    """Keeps the registry and the CRDs' status in step with the stored CRDs."""

    def __init__(self, core: Core, definitions: Resource) -> None:
        self._core = core
        self._definitions = definitions
        self._served: dict[str, list[Resource]] = {}
        self._specs: dict[str, bytes] = {}
        self._going: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def load(self) -> None:
        """Serve all CRDs found in the store at start."""
        store = self._core.objects.store
        for key in store.keys(PREFIX):
            record = store.get(key)
            if record is not None:
                self._serve(record, at_start=True)
                self._settle(record)

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow every committed change of a CRD."""
        for event in events:
            if not event.key.startswith(PREFIX):
                continue
            if event.record is None:
                self._forget(event.key)
                for key in self._core.objects.store.keys(PREFIX):
                    # a freed name may be what another CRD waits for
                    self._spawn(self._update_status(key))
            else:
                self._serve(event.record)
                self._settle(event.record)

    def _settle(self, record: Record) -> None:
        crd = orjson.loads(record.value)
        if crd["metadata"].get("deletionTimestamp"):
            if record.key not in self._going and self._going_crd(record.key) is not None:
                self._going.add(record.key)
                self._spawn(self._clean_up(record.key))
        elif decide(crd, self._others(), "") is not None:
            self._spawn(self._update_status(record.key))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("following a CRD failed", exc_info=task.exception())

    def _others(self) -> list[Object]:
        store = self._core.objects.store
        records = (store.newest(key) for key in store.keys(PREFIX))
        return [orjson.loads(record.value) for record in records if record is not None]

    def _serve(self, record: Record, *, at_start: bool = False) -> None:
        crd = orjson.loads(record.value)
        if not is_true(crd, "Established"):
            return
        going = bool(crd["metadata"].get("deletionTimestamp"))
        fingerprint = orjson.dumps([crd["spec"], crd["status"]["acceptedNames"], going])
        if self._specs.get(record.key) == fingerprint:
            return
        registry: Registry = self._core.registry
        before = {r.version: r for r in self._served.get(record.key, [])}
        # after a restart nothing tells under which schema an object was stored, so all are brought up to date on read
        since = self._core.objects.store.newest_revision + 1 if before or at_start else 0
        began = next((r.served_since for r in before.values()), 0 if at_start else record.revision)
        resources = [
            replace(resource, terminating=going, served_since=began)
            for resource in resources_of(crd, since)
            if not registry.is_taken(resource.group, resource.version, resource.plural)
        ]
        for version in before.keys() - {r.version for r in resources}:
            registry.remove(before[version].group, version, before[version].plural)
        for resource in resources:
            registry.add(resource)
        if before:
            # watchers of a changed resource list again, as they do on a real server
            self._core.hub.close(next(iter(before.values())).prefix)
        self._served[record.key] = resources
        self._specs[record.key] = fingerprint

    def _forget(self, key: str) -> None:
        for resource in self._served.pop(key, []):
            self._core.registry.remove(resource.group, resource.version, resource.plural)
            self._core.hub.close(resource.prefix)
        self._specs.pop(key, None)

    async def _update_status(self, key: str) -> None:
        store = self._core.objects.store
        while True:
            record = store.newest(key)
            if record is None:
                return
            crd = orjson.loads(record.value)
            new_status = decide(crd, self._others(), stamp(self._core.clock()))
            if new_status is None:
                return
            crd["status"] = new_status
            if await self._write(record, crd):
                return

    async def _write(self, record: Record, crd: Object) -> bool:
        store, resource = self._core.objects.store, self._definitions
        crd, _owners = track_update(
            orjson.loads(record.value),
            crd,
            type=resource.behaviour.type,
            manager="kube-apiserver",
            api_version=resource.api_version,
            subresource="status",
            now=stamp(self._core.clock()),
            reset=resource.behaviour.reset_status,
        )
        try:
            await store.put(record.key, lambda rev: encode(resource, crd, rev), expect=record.revision)
        except Conflict:
            return False
        return True

    async def _clean_up(self, key: str) -> None:
        """Delete all objects of a CRD that goes, then let it go."""
        store, hub = self._core.objects.store, self._core.hub
        crd = self._going_crd(key)
        if crd is None:
            self._going.discard(key)
            return
        uid, spec = crd["metadata"]["uid"], crd["spec"]
        group, plural = spec["group"], spec["names"]["plural"]
        prefix = f"/{plural}.{group}/"
        changed = asyncio.Event()

        def notice(events: Sequence[Event]) -> None:
            if any(event.key.startswith(prefix) for event in events):
                changed.set()

        hub.listen(notice)
        try:
            # objects that were on their way when the CRD was marked come later, those with finalizers go later
            while store.newest_count(prefix) and not self._core.registry.is_taken(group, "", plural):
                changed.clear()
                await self._delete_instances(prefix)
                if store.newest_count(prefix):
                    await changed.wait()
                crd = self._going_crd(key)
                if crd is None or crd["metadata"]["uid"] != uid:
                    # let go by hand, perhaps made anew: what is there now is not ours to delete
                    return
        finally:
            hub.unlisten(notice)
            self._going.discard(key)
        await self._finish(key)

    def _going_crd(self, key: str) -> Object | None:
        """The newest version of a CRD that waits for the end of its objects; None if it does not."""
        record = self._core.objects.store.newest(key)
        if record is None:
            return None
        crd: Object = orjson.loads(record.value)
        metadata = crd["metadata"]
        waits = metadata.get("deletionTimestamp") and CLEANUP_FINALIZER in entries(metadata, "finalizers")
        return crd if waits else None

    async def _delete_instances(self, prefix: str) -> None:
        store = self._core.objects.store
        options = DeleteOptions(None, "", None, None, dry_run=False, orphan=None)
        for key in store.keys(prefix):
            record = store.newest(key)
            if record is None:
                continue
            obj = orjson.loads(record.value)
            after = deleted(None, obj, options, self._core.clock())
            if not after["metadata"].get("finalizers"):
                await store.delete(key, _as_stored(after), expect=record.revision)
            elif after is not obj:
                await store.put(key, _as_stored(after), expect=record.revision)

    async def _finish(self, key: str) -> None:
        store, resource = self._core.objects.store, self._definitions
        while True:
            record, crd = store.newest(key), self._going_crd(key)
            if record is None or crd is None:
                return
            crd["metadata"]["finalizers"] = [f for f in crd["metadata"]["finalizers"] if f != CLEANUP_FINALIZER]
            try:
                if crd["metadata"]["finalizers"]:
                    await store.put(key, _encoder(resource, crd), expect=record.revision)
                else:
                    del crd["metadata"]["finalizers"]
                    await store.delete(key, _encoder(resource, crd), expect=record.revision)
            except Conflict:
                continue
            return


def _encoder(resource: Resource, obj: Object) -> Callable[[int], bytes]:
    return lambda revision: encode(resource, obj, revision)


def _as_stored(obj: Object) -> Callable[[int], bytes]:
    """An object that stays in the version it was stored in, whether that is still served or not."""

    def write(revision: int) -> bytes:
        obj["metadata"]["resourceVersion"] = str(revision)
        return orjson.dumps(obj)

    return write


def terminating(crd: Object, now: str) -> Object:
    """The CRD at the moment it is asked to go: marked, and held until its objects are gone."""
    metadata = {**crd["metadata"], "deletionTimestamp": now}
    finalizers: list[str] = entries(metadata, "finalizers")
    if CLEANUP_FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP_FINALIZER]
    current = {**section(crd, "status")}
    conditions: list[Object] = [*entries(current, "conditions")]
    pending = {
        "type": "Terminating",
        "status": "True",
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    _set_condition(conditions, pending, now)
    return {**crd, "metadata": metadata, "status": {**current, "conditions": conditions}}
