"""What every object has: metadata, conditions and events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rayward.cli.describing.paper import Paper
from rayward.kube.machinery import duration
from rayward.kube.machinery.jsonvalue import Object, entries, section

_HIDDEN = ("kubectl.kubernetes.io/last-applied-configuration",)


def tell_metadata(paper: Paper, obj: Object) -> None:
    """Name, namespace, labels, annotations, owner."""
    metadata = section(obj, "metadata")
    paper.field("Name", metadata.get("name"))
    if metadata.get("namespace"):
        paper.field("Namespace", metadata["namespace"])


def tell_marks(paper: Paper, obj: Object) -> None:
    """Labels and annotations, who controls it, and whether it is being deleted."""
    metadata = section(obj, "metadata")
    paper.pairs("Labels", section(metadata, "labels"))
    shown = {name: value for name, value in section(metadata, "annotations").items() if name not in _HIDDEN}
    paper.pairs("Annotations", shown, sign=": ")
    for owner in entries(metadata, "ownerReferences"):
        if owner.get("controller"):
            paper.field("Controlled By", f"{owner['kind']}/{owner['name']}")
    if metadata.get("deletionTimestamp"):
        paper.field("Being deleted", f"since {metadata['deletionTimestamp']}")
        paper.field("Finalizers", ", ".join(entries(metadata, "finalizers")))


def tell_conditions(paper: Paper, conditions: Sequence[Object]) -> None:
    """Type, status, reason and message of each condition."""
    if not conditions:
        return
    paper.say("Conditions:")
    rows = [
        (*(_text(one.get(name)) for name in ("type", "status", "reason")), _text(one.get("message")).partition("\n")[0])
        for one in conditions
    ]
    paper.table(("Type", "Status", "Reason", "Message"), rows)
    for one in conditions:
        detail = _text(one.get("message")).partition("\n")[2]
        if detail:
            paper.say(f"{_text(one.get('type'))}:")
            for line in detail.splitlines():
                paper.say(line, 1)


def tell_events(paper: Paper, events: Sequence[Object], now: datetime) -> None:
    """What happened, the latest last."""
    if not events:
        paper.field("Events", None)
        return
    paper.say("Events:")
    rows = [
        (_text(one.get("type")), _text(one.get("reason")), age(one, now), _source(one), _text(one.get("message")))
        for one in sorted(events, key=last_seen)
    ]
    paper.table(("Type", "Reason", "Age", "From", "Message"), rows)


def last_seen(event: Object) -> str:
    """When an event happened last."""
    series = section(event, "series")
    found = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(found or section(event, "metadata").get("creationTimestamp") or "")


def age(event: Object, now: datetime) -> str:
    """How long ago an event was, and how often: ``3s (x5 over 2m)``."""
    count = section(event, "series").get("count") or event.get("count") or 1
    first = str(event.get("firstTimestamp") or event.get("eventTime") or last_seen(event))
    told = duration.since(last_seen(event), now)
    return f"{told} (x{count} over {duration.since(first, now)})" if count > 1 else told


def _source(event: Object) -> str:
    return _text(section(event, "source").get("component") or event.get("reportingComponent"))


def _text(value: Any) -> str:
    return str(value) if value is not None else ""
