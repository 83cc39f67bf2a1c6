"""Registry entries that record revisions, so that changes by kubectl and GitOps tools are in the history too.

A generation's revision is made once, by whoever sees it first. Which ones there are is known from a watch of their
metadata, so that an operator that starts anew asks for nothing that is recorded already. Clusters that a RayService or
a RayJob owns have no history of their own: nobody asked for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rayward.changes import pruning
from rayward.changes.judging import State, judge
from rayward.changes.refs import Ref
from rayward.changes.revisions import DURATION, MANAGER, OUTCOME, OWNER, RESULT, manifest_of, surplus
from rayward.kube.client.errors import AlreadyExists, Forbidden, NotFound
from rayward.kube.client.options import WriteOptions
from rayward.kube.core.meta import controller_of, parse_time
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import CONTROLLER_REVISIONS, Resource
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment, Registration, Source

BY_UID: Final = "owner-uid"
"""Revisions by the uid of the object that they are of."""
_WRITE: Final[WriteOptions] = {"field_manager": "rayward-recorder", "field_validation": "Ignore"}
_ENDED: Final = {State.APPLIED, State.FAILED}


def _uid_of(found: KubeObject) -> tuple[str, ...]:
    uid = found.metadata.label(OWNER)
    return (uid,) if uid else ()


REVISIONS: Final = Source(
    CONTROLLER_REVISIONS, KubeObject, {"label_selector": OWNER}, metadata_only=True, indexes={BY_UID: _uid_of}
)


def registrations(*sources: Source[Any]) -> tuple[Registration, ...]:
    """The entries that record revisions of these kinds; a source that is the operator's own costs no second watch."""
    return tuple(_registration(source) for source in sources)


def _registration(source: Source[Any]) -> Registration:
    return Registration(
        name=f"{source.resource.kind.lower()}-revisions",
        resource=source.resource,
        component="revision-recorder",
        rules=(
            rule(READ, source.resource),
            rule((*READ, "create", "patch", "delete"), CONTROLLER_REVISIONS),
        ),
        build=lambda environment, metrics: RevisionRecorder(environment, source),
    )


@dataclass(slots=True)
class _Local:
    """The generation that is known to be recorded, and that whose end is."""

    recorded: int = 0
    ended: int = 0


class RevisionRecorder(Reconciler[KubeObject, _Local]):
    """Makes the revision of each generation of one kind, and notes how it ended."""

    def __init__(self, environment: Environment, source: Source[Any]) -> None:
        super().__init__(f"{source.resource.kind.lower()}-revisions", environment, source, _WRITE, _Local)
        self._revisions = environment.informers.cache(REVISIONS)
        # the end of a generation shows in the status alone
        self.controller.watch(self.objects)

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return {CONTROLLER_REVISIONS: self._revisions}

    def manages(self, found: KubeObject) -> bool:
        """Whether somebody asked for it, and no controller did."""
        return controller_of(found) is None and not found.deleting

    async def reconcile(self, found: KubeObject, local: _Local) -> Result:
        """Record a generation that nobody has, then its end."""
        metadata = found.metadata
        ref = Ref(self.resource.kind, metadata.name, metadata.namespace)
        name = f"{metadata.uid}-{metadata.generation}"
        if local.recorded < metadata.generation:
            if self._revisions.get(Key(metadata.namespace, name)) is None:
                await self._record(ref, found)
            local.recorded = metadata.generation
        if local.ended < metadata.generation:
            await self._note_end(ref, found, name, local)
        return DONE

    async def _record(self, ref: Ref, found: KubeObject) -> None:
        try:
            # of RayClusters the operator keeps no more than its decisions read
            live: Object = self.objects.whole(found.key) or await self.client.get(
                self.resource, ref.name, ref.namespace
            )
        except NotFound:
            return
        if live["metadata"]["uid"] != found.metadata.uid:
            return
        writer = self.writer(found)
        # the cache does not show the one yet that is to be made
        cached = self._revisions.find(BY_UID, found.metadata.uid)
        name = f"{found.metadata.uid}-{live['metadata']['generation']}"
        known = [_listed(one) for one in cached if one.metadata.name != name]
        try:
            body = manifest_of(ref, live, before=await self._before(found))
            names = surplus([*known, body])
            if gone := pruning.with_pruned(known, names):
                body["metadata"]["annotations"][pruning.PRUNED] = gone
            await writer.create(CONTROLLER_REVISIONS, body)
        except (AlreadyExists, Forbidden):
            # the SDK was faster; or the namespace is being deleted
            return
        for name in names:
            one = self._revisions.get(Key(ref.namespace, name))
            if one is not None:
                await writer.delete(CONTROLLER_REVISIONS, name, one.metadata.uid)

    async def _before(self, found: KubeObject) -> Object | None:
        """The spec of the generation before, where it is recorded."""
        key = Key(found.metadata.namespace, f"{found.metadata.uid}-{found.metadata.generation - 1}")
        if self._revisions.get(key) is None:
            return None
        try:
            stored = await self.client.get(CONTROLLER_REVISIONS, key.name, key.namespace)
        except NotFound:
            return None
        return section(section(stored, "data"), "spec")

    async def _note_end(self, ref: Ref, found: KubeObject, name: str, local: _Local) -> None:
        revision = self._revisions.get(Key(ref.namespace, name))
        if revision is None or revision.metadata.annotation(OUTCOME):
            local.ended = found.metadata.generation if revision is not None else local.ended
            return
        # of RayClusters the operator keeps no text, but all that a verdict reads
        live: Object = self.objects.whole(found.key) or msgspec.to_builtins(found)
        verdict = judge(ref.kind, live, found.metadata.generation)
        if verdict.state not in _ENDED:
            return
        created = revision.metadata.creation_timestamp
        took = (self.clock.utc() - parse_time(created)).total_seconds() if created else 0.0
        noted = {OUTCOME: verdict.reason, DURATION: f"{max(took, 0.0):.1f}", RESULT: str(verdict.state)}
        change = {"metadata": {"uid": revision.metadata.uid, "annotations": noted}}
        await self.writer(found).patch(CONTROLLER_REVISIONS, name, change)
        local.ended = found.metadata.generation


def _listed(found: KubeObject) -> Object:
    """A revision as far as its metadata tells: the number is the end of its name."""
    number = found.metadata.name.rpartition("-")[2]
    annotations = {name: found.metadata.annotation(name) for name in (MANAGER, pruning.PRUNED)}
    return {
        "metadata": {"name": found.metadata.name, "annotations": annotations},
        "revision": int(number) if number.isdigit() else 0,
    }
