"""What the API server still knows of an object's past, for servers without a recorder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayward.changes.history import history
from rayward.changes.refs import Ref
from rayward.changes.revisions import Revision
from rayward.changes.steps import Operation
from rayward.changes.timeline.entry import Entry
from rayward.changes.why.evidence import Evidence, events_about, gather
from rayward.kube.machinery.jsonvalue import Object, entries, section


def read_timeline(ref: Ref) -> Operation[tuple[Entry, ...]]:
    """Entries from what the server has now, the oldest first.

    Raises:
        NotFound: The object is not there.
    """
    evidence = yield from gather(ref)
    revisions = yield from history(ref)
    events = yield from events_about(ref, evidence)
    found = [*_revisions(ref, revisions), *_conditions(evidence), *_events(ref, events)]
    return ordered(found)


def ordered(found: Iterable[Entry]) -> tuple[Entry, ...]:
    """By time, each once."""
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.at))


def _revisions(ref: Ref, revisions: Iterable[Revision]) -> Iterator[Entry]:
    for one in revisions:
        if one.is_gap or not one.changed_at:
            continue
        text = f"generation {one.revision} was requested" + (f": {one.cause}" if one.cause else "")
        text += f" ({one.changed})" if one.changed else ""
        by = one.user or one.manager
        yield Entry(one.changed_at, ref.namespace, ref.kind, ref.name, "spec", text, by, detail=one.diff)


def _conditions(evidence: Evidence) -> Iterator[Entry]:
    ref = evidence.ref
    objects = [
        (ref.kind, evidence.object),
        *(("RayCluster", one) for one in evidence.clusters if ref.kind != "RayCluster"),
    ]
    for kind, obj in objects:
        name = str(section(obj, "metadata").get("name"))
        for one in entries(section(obj, "status"), "conditions"):
            at = str(one.get("lastTransitionTime") or "")
            if at and one.get("status") != "Unknown":
                text = f"{one.get('type')} is {one.get('status')}: {one.get('reason')}"
                owner = "" if kind == ref.kind else str(ref)
                yield Entry(at, ref.namespace, kind, name, "condition", text, "", owner, str(one.get("message") or ""))


def _events(ref: Ref, events: Iterable[Object]) -> Iterator[Entry]:
    for one in events:
        involved = section(one, "involvedObject")
        at = str(
            one.get("lastTimestamp") or one.get("eventTime") or section(one, "metadata").get("creationTimestamp") or ""
        )
        kind, name = str(involved.get("kind")), str(involved.get("name"))
        owner = "" if (kind, name) == (ref.kind, ref.name) else str(ref)
        by = str(section(one, "source").get("component") or one.get("reportingComponent") or "")
        text = f"{one.get('reason')}: {one.get('message')}"
        yield Entry(at, ref.namespace, kind, name, "event", text, by, owner)
