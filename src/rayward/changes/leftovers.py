"""What was left behind: objects of Ray's kinds whose owner is gone, and clusters that lost the mark of their owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from rayward.changes.recreating import RECREATION
from rayward.changes.revisions import OWNER
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONTROLLER_REVISIONS, PODS, SERVICES, Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section

_OWNERS: Final = {one.kind: one for one in (RAY_CLUSTERS, RAY_SERVICES, RAY_JOBS)}
_CHILDREN: Final[tuple[tuple[Resource, str], ...]] = (
    (RAY_CLUSTERS, labels.ORIGIN_NAME),
    (PODS, labels.CLUSTER),
    (SERVICES, labels.CLUSTER),
    (CONTROLLER_REVISIONS, OWNER),
)


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object whose owner is gone, or that lost it.

    Attributes:
        resource: Its collection.
        name: Its name.
        uid: Which one of that name.
        why: In words.
        action: ``delete`` where the owner is gone, ``adopt`` where it is there and not its owner.
        owners: Its owners once it is adopted.
    """

    resource: Resource
    name: str
    uid: str
    why: str
    action: Literal["delete", "adopt"]
    owners: tuple[Object, ...] = ()

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"

    def document(self) -> Object:
        return {"kind": self.resource.kind, "name": self.name, "uid": self.uid, "why": self.why, "action": self.action}


def find(namespace: str) -> Operation[tuple[Leftover, ...]]:
    """Every leftover of a namespace; nothing is changed."""
    # children before owners: one that is made in between is of an owner that the second look shows
    children: list[tuple[Resource, str, list[Object]]] = []
    for resource, label in _CHILDREN:
        children.append((resource, label, (yield from _listed(resource, namespace, label))))
    owners: dict[tuple[str, str], Object] = {}
    for resource in _OWNERS.values():
        for one in (yield from _listed(resource, namespace, "")):
            owners[resource.kind, str(one["metadata"]["name"])] = one
    uids = {str(one["metadata"]["uid"]) for one in owners.values()}
    # the history of an object that is being made again waits for its new owner
    for one in (yield from _listed(CONTROLLER_REVISIONS, namespace, RECREATION)):
        uids.add(str(section(section(one, "data"), "from").get("uid")))
    found: list[Leftover] = []
    for resource, label, listed in children:
        for one in listed:
            leftover = _judged(resource, label, one, owners, uids)
            if leftover is not None:
                found.append(leftover)
    return tuple(found)


def roots(resource: Resource, namespace: str) -> Operation[list[Object]]:
    """The objects of a kind that no other object of Ray's owns."""
    found = yield from _listed(resource, namespace, "")
    return [
        one
        for one in found
        if not any(owner.get("kind") in _OWNERS for owner in entries(section(one, "metadata"), "ownerReferences"))
    ]


def clean(namespace: str, leftovers: tuple[Leftover, ...]) -> Operation[None]:
    """Delete or adopt each, this very one and none made anew under its name."""
    for one in leftovers:
        try:
            if one.action == "delete":
                yield Send(verbs.delete(one.resource, one.name, namespace, uid=one.uid))
            else:
                change = {"metadata": {"uid": one.uid, "ownerReferences": list(one.owners)}}
                yield Send(verbs.patch(one.resource, one.name, change, PatchType.MERGE, namespace))
        except (errors.NotFound, errors.Conflict):
            # gone, or another one by now
            continue


def _judged(
    resource: Resource, label: str, one: Object, owners: dict[tuple[str, str], Object], uids: set[str]
) -> Leftover | None:
    metadata = section(one, "metadata")
    if metadata.get("deletionTimestamp"):
        return None
    name, uid = str(metadata["name"]), str(metadata["uid"])
    owned = entries(metadata, "ownerReferences")
    if any(owner.get("controller") and owner.get("kind") not in _OWNERS for owner in owned):
        # a Job's pod, say
        return None
    references = [owner for owner in owned if owner.get("kind") in _OWNERS]
    if any(str(owner.get("uid")) in uids for owner in references):
        return None
    if references:
        gone = references[0]
        why = f"its owner {gone.get('kind')} {gone.get('name')} ({gone.get('uid')}) is gone"
        return Leftover(resource, name, uid, why, "delete")
    if resource in (PODS, SERVICES) and labels.IDENTIFIER not in section(metadata, "labels"):
        # a user's own, with the label of a cluster
        return None
    value = str(section(metadata, "labels").get(label) or "")
    if resource is CONTROLLER_REVISIONS:
        return None if value in uids else Leftover(resource, name, uid, f"its owner {value} is gone", "delete")
    kind: Any = section(metadata, "labels").get(labels.ORIGIN_KIND) if resource is RAY_CLUSTERS else "RayCluster"
    owner = owners.get((str(kind), value))
    if owner is None:
        return Leftover(resource, name, uid, f"label {label} names {kind} {value}, which is gone", "delete")
    reference: Object = {
        "apiVersion": _OWNERS[str(kind)].api_version,
        "kind": kind,
        "name": value,
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return Leftover(resource, name, uid, f"{kind} {value} is not its owner", "adopt", (*owned, reference))


def _listed(resource: Resource, namespace: str, label: str) -> Operation[list[Object]]:
    try:
        found: Object = yield Send(verbs.list_(resource, namespace, label_selector=label))
    except errors.NotFound:
        return []
    return entries(found, "items")
