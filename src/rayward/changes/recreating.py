"""Deleting an object and making it again, for fields that cannot be changed; its history goes on.

What is to be made is stored before anything is deleted, so that whoever runs it again, killed anywhere, finds it there
and goes on. The revisions lose their owner before it is deleted, and get the new one afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from rayward.changes import following, history, writing
from rayward.changes.deleting import propagation_of
from rayward.changes.following import Seen
from rayward.changes.outcomes import NotFound, UsageError, WaitTimeout
from rayward.changes.refs import Ref
from rayward.changes.revisions import OWNER, PREDECESSORS
from rayward.changes.steps import Now, Operation, Send
from rayward.changes.writing import Written
from rayward.kinds import labels
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONTROLLER_REVISIONS
from rayward.kube.machinery.jsonvalue import Object, entries, section

RECREATION: Final = labels.RECREATION
"""On a ControllerRevision: the object, as ``kind.name``, that it is to be made again from."""
_MEMORY: Final = (labels.TRANSACTION, labels.PROMOTE, labels.ABORT, "kubectl.kubernetes.io/last-applied-configuration")
"""Annotations that are about the object that goes."""
_LONGEST_LABEL: Final = 63
_LONGEST_WATCH: Final = 300.0

Say = Callable[[str], None]


def recreate(
    ref: Ref,
    wanted: Object | None = None,
    *,
    approve: str = "",
    timeout: float = 600.0,
    manager: str = writing.MANAGER,
    user: str = "",
    say: Say = lambda text: None,
) -> Operation[Written]:
    """Delete an object in the foreground and make it again, as it was or as a manifest says.

    Labels, annotations and history are kept; pods are not, and nothing serves in between.

    Raises:
        UsageError: ``approve`` is not the object's name, or an unfinished recreation is of another manifest.
        NotFound: It is not there, and no recreation is pending.
        WaitTimeout: It is not gone in time; run it again to continue.
    """
    live = yield from writing.read_or_none(ref)
    stored = yield from _stored(ref)
    if stored is None and live is None:
        raise NotFound(f"{ref} does not exist", "and it is not being recreated", f"rayward get {ref.kind.lower()}")
    if stored is not None and _is_untouched(live, stored):
        # killed before anything was deleted: what is live now counts, and is asked about again
        yield from _forget(ref, stored)
        stored = None
    if stored is not None and wanted is not None and section(wanted, "spec") != _spec_of(stored):
        # what was deleted was approved for another manifest
        what = f"an earlier recreation of {ref} is not finished, and has another spec than this file"
        why = "the object was deleted then, and is created again from what was given then"
        raise UsageError(what, why, f"rayward recreate {ref}   # then: rayward apply -f FILE", object=str(ref))
    if stored is None:
        assert live is not None
        if approve != ref.name:
            what = f"recreating {ref} needs approval: it is deleted with its pods and created again"
            raise UsageError(what, "", f"rayward recreate {ref} --approve={ref.name}", object=str(ref))
        yield from history.record(ref, live)
        stored = yield from _store(ref, _manifest(ref, live, wanted), live)
    old = str(section(stored["data"], "from").get("uid"))
    if live is not None and live["metadata"]["uid"] == old:
        yield from _disown(ref, old)
        say(f"{ref}: deleting, what it owns first")
        yield from _delete(ref, live, timeout)
        live = None
    if live is None:
        say(f"{ref}: creating it again")
        body = section(section(stored, "data"), "manifest")
        try:
            live = yield Send(verbs.create(ref.resource, body, ref.namespace, field_manager=manager))
        except errors.AlreadyExists:
            live = yield from writing.read(ref)
    assert live is not None
    yield from _own(ref, old, live)
    yield from history.record(ref, live, cause="recreate", user=user)
    yield from _forget(ref, stored)
    return Written(live)


def _is_untouched(live: Object | None, stored: Object) -> bool:
    if live is None or live["metadata"].get("deletionTimestamp"):
        return False
    return live["metadata"]["uid"] == section(stored["data"], "from").get("uid")


def _manifest(ref: Ref, live: Object, wanted: Object | None) -> Object:
    base = wanted if wanted is not None else live
    metadata, before = section(base, "metadata"), section(live, "metadata")
    kept: dict[str, Any] = {}
    for part in ("labels", "annotations"):
        kept[part] = {**section(before, part), **section(metadata, part)}
    for name in _MEMORY:
        kept["annotations"].pop(name, None)
    earlier = [one for one in str(kept["annotations"].get(PREDECESSORS) or "").split(",") if one]
    kept["annotations"][PREDECESSORS] = ",".join([*earlier, str(before["uid"])][-5:])
    return {
        "apiVersion": ref.resource.api_version,
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace, **{k: v for k, v in kept.items() if v}},
        "spec": section(base, "spec"),
    }


def _spec_of(stored: Object) -> Object:
    return section(section(section(stored, "data"), "manifest"), "spec")


def _label(ref: Ref) -> str:
    """The object as the value of a label, which has at most 63 characters."""
    whole = f"{ref.kind.lower()}.{ref.name}"
    return whole if len(whole) <= _LONGEST_LABEL else f"{whole[:54]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"


def _stored(ref: Ref) -> Operation[Object | None]:
    selector = f"{RECREATION}={_label(ref)}"
    found: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, ref.namespace, label_selector=selector))
    items = entries(found, "items")
    return items[0] if items else None


def _store(ref: Ref, manifest: Object, live: Object) -> Operation[Object]:
    uid = str(live["metadata"]["uid"])
    body: Object = {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "name": f"recreate-{uid}",
            "namespace": ref.namespace,
            "labels": {RECREATION: _label(ref)},
        },
        "revision": int(live["metadata"].get("generation") or 0),
        "data": {"manifest": manifest, "from": {"uid": uid}},
    }
    try:
        made: Object = yield Send(verbs.create(CONTROLLER_REVISIONS, body, ref.namespace))
    except errors.AlreadyExists:
        made = yield Send(verbs.get(CONTROLLER_REVISIONS, f"recreate-{uid}", ref.namespace))
    return made


def _forget(ref: Ref, stored: Object) -> Operation[None]:
    try:
        yield Send(verbs.delete(CONTROLLER_REVISIONS, stored["metadata"]["name"], ref.namespace))
    except errors.NotFound:
        return


def _disown(ref: Ref, uid: str) -> Operation[None]:
    yield from _each(ref, uid, {"metadata": {"ownerReferences": None}})


def _own(ref: Ref, uid: str, live: Object) -> Operation[None]:
    owner = {
        "apiVersion": ref.resource.api_version,
        "kind": ref.kind,
        "name": ref.name,
        "uid": live["metadata"]["uid"],
    }
    yield from _each(ref, uid, {"metadata": {"ownerReferences": [owner]}})


def _each(ref: Ref, uid: str, change: Object) -> Operation[None]:
    found: Object = yield Send(verbs.list_(CONTROLLER_REVISIONS, ref.namespace, label_selector=f"{OWNER}={uid}"))
    for one in entries(found, "items"):
        try:
            yield Send(
                verbs.patch(CONTROLLER_REVISIONS, one["metadata"]["name"], change, PatchType.MERGE, ref.namespace)
            )
        except errors.NotFound:
            continue


def _delete(ref: Ref, live: Object, timeout: float) -> Operation[None]:
    metadata = live["metadata"]
    try:
        yield Send(
            verbs.delete(
                ref.resource,
                ref.name,
                ref.namespace,
                propagation_policy=propagation_of({"kind": ref.kind, **live}),
                uid=str(metadata["uid"]),
            )
        )
    except errors.NotFound:
        return
    began: float = yield Now()
    until = began + timeout if timeout else None
    seen: Seen | None = following.seen_as(live)
    while seen is not None and section(seen.live, "metadata").get("uid") == metadata["uid"]:
        left = _LONGEST_WATCH if until is None else until - (yield Now())
        if left <= 0:
            what = f"{ref} is still there after {timeout:g} s; run it again to continue"
            held = ", ".join(map(str, entries(section(seen.live, "metadata"), "finalizers")))
            why = f"finalizers: {held}" if held else "what it owns is not gone yet"
            raise WaitTimeout(what, why, f"rayward unstick {ref}", object=str(ref))
        try:
            seen = yield from following.after(ref, seen, min(left, _LONGEST_WATCH), until)
        except NotFound:
            return
