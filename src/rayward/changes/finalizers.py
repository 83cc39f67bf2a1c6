"""Finalizers that hold an object: whose they are, what would be left behind, and the removal of exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rayward.changes import writing
from rayward.changes.outcomes import Conflict, Invalid, NotFound, UsageError
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.core.resource import EVENTS
from rayward.kube.machinery.jsonvalue import Object, entries, section


@dataclass(frozen=True, slots=True)
class Holder:
    """A finalizer that is known.

    Attributes:
        owner: Who removes it, in words.
        waits_for: What it waits for.
        orphans: What stays behind when it is removed by hand.
        cleans_clusters: Whether the cleanup is the deletion of the RayClusters that the object owns.
    """

    owner: str
    waits_for: str
    orphans: str
    cleans_clusters: bool = False


_OPERATOR: Final = "the operator of Ray's kinds"
_UNKNOWN: Final = Holder("a controller that is not known here", "whatever that controller does", "what it looks after")
HOLDERS: Final[dict[str, Holder]] = {
    labels.REDIS_CLEANUP_FINALIZER: Holder(
        _OPERATOR, "a Job that removes the cluster's keys from Redis", "the keys of the cluster's head in Redis"
    ),
    labels.SERVICE_FINALIZER: Holder(
        _OPERATOR, "the RayClusters of the service to be deleted", "its RayClusters", cleans_clusters=True
    ),
    labels.JOB_FINALIZER: Holder(
        _OPERATOR, "the job to be stopped", "the Ray job, where its cluster goes on", cleans_clusters=True
    ),
    "kueue.x-k8s.io/resource-in-use": Holder("Kueue", "the workload to give its quota back", "quota that stays used"),
    "foregroundDeletion": Holder("the garbage collector", "what the object owns to be deleted", "what it owns"),
    "orphan": Holder(
        "the garbage collector", "owner references to be removed", "nothing: children refer to a deleted owner"
    ),
}


@dataclass(frozen=True, slots=True)
class Held:
    """One finalizer of an object, and who holds it."""

    finalizer: str
    holder: Holder

    def document(self) -> Object:
        holder = self.holder
        return {
            "finalizer": self.finalizer,
            "owner": holder.owner,
            "waitsFor": holder.waits_for,
            "orphans": holder.orphans,
            "cleanup": holder.cleans_clusters,
        }


@dataclass(frozen=True, slots=True)
class Stuck:
    """What holds an object.

    Attributes:
        object: It as it is.
        since: When it was deleted; empty where it is not.
        held: Its finalizers.
        clusters: The names of RayClusters that it owns.
        removed: The finalizer that was removed.
    """

    object: Object
    since: str
    held: tuple[Held, ...]
    clusters: tuple[str, ...] = ()
    removed: str = ""

    def cost(self, one: Held) -> str:
        """What the removal of a finalizer costs, in words: what is deleted first, else what is left behind."""
        if one.holder.cleans_clusters and self.clusters:
            return f"deletes RayCluster {', '.join(self.clusters)} first"
        return f"leaves behind {one.holder.orphans}"


def inspect(ref: Ref) -> Operation[Stuck]:
    """Who holds which finalizer; nothing is changed.

    Raises:
        NotFound: The object is not there.
    """
    live = yield from writing.read(ref)
    metadata = section(live, "metadata")
    held = tuple(Held(str(one), HOLDERS.get(str(one), _UNKNOWN)) for one in entries(metadata, "finalizers"))
    clusters: tuple[str, ...] = ()
    if ref.kind != "RayCluster":
        try:
            found: Object = yield Send(verbs.list_(RAY_CLUSTERS, ref.namespace))
        except errors.Forbidden:
            found = {}
        clusters = tuple(
            str(section(one, "metadata").get("name"))
            for one in entries(found, "items")
            if any(owner.get("uid") == metadata.get("uid") for owner in entries(one["metadata"], "ownerReferences"))
        )
    return Stuck(live, str(metadata.get("deletionTimestamp") or ""), held, clusters)


def unstick(
    ref: Ref, finalizer: str = "", *, now: str, approve: str = "", manager: str = writing.MANAGER
) -> Operation[Stuck]:
    """Clean up where it is known how, and remove exactly one finalizer.

    Args:
        ref: The object.
        finalizer: Which one; it may be left out where there is but one.
        now: The time of the event that records it, as RFC 3339.
        approve: The object's name, typed: without it nothing is done.
        manager: The field manager.

    Raises:
        UsageError: ``approve`` is not the object's name, or several finalizers hold it and none is named.
        Invalid: It is not being deleted, so that its finalizers do their work.
        NotFound: It has no such finalizer.
        Conflict: The object changed meanwhile.
    """
    stuck = yield from inspect(ref)
    if not stuck.since:
        what = f"{ref} is not being deleted, so no finalizer holds it"
        raise Invalid(what, "", f"rayward delete {ref}", object=str(ref))
    names = [one.finalizer for one in stuck.held]
    if not names:
        raise NotFound(
            f"{ref} has no finalizers", "what it owns is being deleted", f"rayward why {ref}", object=str(ref)
        )
    if finalizer and finalizer not in names:
        raise NotFound(f"{ref} has no finalizer {finalizer}", f"it has {', '.join(names)}", f"rayward unstick {ref}")
    if not finalizer and len(names) > 1:
        what = f"{len(names)} finalizers hold {ref}, and exactly one is removed"
        raise UsageError(what, "\n".join(names), f"rayward unstick {ref} --finalizer {names[0]} --approve={ref.name}")
    chosen = next(one for one in stuck.held if one.finalizer == (finalizer or names[0]))
    if approve != ref.name:
        what = f"removing finalizer {chosen.finalizer} of {ref} needs approval"
        why = f"it {stuck.cost(chosen)}"
        raise UsageError(what, why, f"rayward unstick {ref} --finalizer {chosen.finalizer} --approve={ref.name}")
    if chosen.holder.cleans_clusters:
        for name in stuck.clusters:
            try:
                yield Send(verbs.delete(RAY_CLUSTERS, name, ref.namespace, propagation_policy="Background"))
            except errors.NotFound:
                continue
    yield from _remove(ref, stuck.object, chosen.finalizer, manager)
    yield from _note(ref, stuck, chosen, now)
    return Stuck(stuck.object, stuck.since, stuck.held, stuck.clusters, chosen.finalizer)


def _remove(ref: Ref, live: Object, finalizer: str, manager: str) -> Operation[None]:
    metadata = section(live, "metadata")
    place = f"/metadata/finalizers/{entries(metadata, 'finalizers').index(finalizer)}"
    operations: list[Object] = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")},
        {"op": "test", "path": place, "value": finalizer},
        {"op": "remove", "path": place},
    ]
    options = PatchOptions(field_manager=manager)
    try:
        yield Send(verbs.patch(ref.resource, ref.name, operations, PatchType.JSON, ref.namespace, **options))
    except (errors.Conflict, errors.Invalid) as error:
        what = f"{ref} changed meanwhile, so its finalizer was not removed"
        raise Conflict(what, error.message, f"rayward unstick {ref}", object=str(ref)) from error


def _note(ref: Ref, stuck: Stuck, chosen: Held, now: str) -> Operation[None]:
    """An event that outlives the object, for as long as events do; the timeline keeps it longer."""
    metadata = section(stuck.object, "metadata")
    involved: dict[str, Any] = {
        "apiVersion": ref.resource.api_version,
        "kind": ref.kind,
        "name": ref.name,
        "namespace": ref.namespace,
        "uid": metadata.get("uid"),
    }
    message = f"Removed finalizer {chosen.finalizer} by rayward unstick, which {stuck.cost(chosen)}"
    body: Object = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{ref.name}.", "namespace": ref.namespace},
        "involvedObject": involved,
        "reason": "FinalizerRemoved",
        "message": message,
        "type": "Warning",
        "source": {"component": "rayward"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    try:
        yield Send(verbs.create(EVENTS, body, ref.namespace))
    except ApiError:
        # a record is no reason to fail
        return
