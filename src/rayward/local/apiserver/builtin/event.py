"""Events, in the core group and in their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, required
from rayward.kube.machinery.names import check_dns1123_subdomain, path_segment_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, fits, qualified_name
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.kind import age, behaviour, meta_of, name_of

Spec = Mapping[str, Any]

_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_TO_NEW = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_TO_CORE = {new: core for core, new in _TO_NEW.items()}
_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128))


def event_behaviour() -> Behaviour:
    """The rules of ``v1/events``."""
    return behaviour(
        "io.k8s.api.core.v1.Event",
        "v1/events",
        cells,
        validate=lambda obj: _check(obj, "reportingComponent"),
        validate_update=lambda new, _old: _check(new, "reportingComponent"),
        check_name=path_segment_name,
        fields=fields,
        selectable=frozenset({f"involvedObject.{f}" for f in _OBJECT_FIELDS})
        | {"reason", "reportingComponent", "source", "type"},
        create_on_update=True,
    )


def new_event_behaviour() -> Behaviour:
    """The rules of ``events.k8s.io/v1/events``, which are the same objects under other field names."""
    return behaviour(
        "io.k8s.api.events.v1.Event",
        "events.k8s.io/v1/events",
        lambda obj, now: cells(to_core(obj), now),
        validate=validate_new,
        validate_update=validate_new_update,
        kube_finalizers=True,
        fields=new_fields,
        selectable=frozenset({f"regarding.{f}" for f in _OBJECT_FIELDS}) | {"reason", "reportingController", "type"},
        create_on_update=True,
    )


def to_core(obj: Spec) -> Object:
    """An event of the new group as the core group shows it."""
    core = {_TO_CORE.get(field, field): value for field, value in obj.items()}
    core["apiVersion"] = "v1"
    for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
        core.setdefault(field, None)
    for field in ("reportingComponent", "reportingInstance"):
        core.setdefault(field, "")
    core.setdefault("source", {})
    core.setdefault("involvedObject", {})
    return core


def to_new(obj: Spec) -> Object:
    """An event of the core group as the new group shows it."""
    new = {_TO_NEW.get(field, field): value for field, value in obj.items()}
    new["apiVersion"] = "events.k8s.io/v1"
    for field in ("reportingController", "reportingInstance"):
        if not new.get(field):
            new.pop(field, None)
    new.setdefault("eventTime", None)
    for field in ("deprecatedSource", "regarding"):
        new.setdefault(field, {})
    for field in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        new.setdefault(field, None)
    return new


def _check(event: Spec, controller_field: str) -> list[FieldError]:
    """The rules that events of both groups meet; ``event`` is in core form."""
    out: Errors = []
    namespace = meta_of(event).get("namespace") or ""
    about = (event.get("involvedObject") or NOTHING).get("namespace") or ""
    mismatch = invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not event.get("eventTime"):
        if (about and about != namespace) or (not about and namespace not in ("", "default")):
            out.append(mismatch)
    else:
        if not about and namespace not in ("default", "kube-system"):
            out.append(mismatch)
        _check_new_style(event, controller_field, out)
    fits(check_dns1123_subdomain, namespace, "namespace", out)
    return out


def _check_new_style(event: Spec, controller_field: str, out: Errors) -> None:
    controller = event.get("reportingComponent") or ""
    if not controller:
        out.append(required(controller_field))
    qualified_name(controller, controller_field, out)
    for field, limit in _LIMITS:
        value = event.get(field) or ""
        if not value:
            out.append(required(field))
        if len(value.encode()) > limit:
            out.append(invalid(field, "", f"can have at most {limit} characters"))
    if len((event.get("message") or "").encode()) > 1024:
        out.append(invalid("message", "", "can have at most 1024 characters"))


def validate_new(obj: Object) -> list[FieldError]:
    """A new event of the new group."""
    event = to_core(obj)
    out = _check(event, "reportingController")
    _check_series(event, out)
    if not event.get("eventTime"):
        out.append(required("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        out.append(invalid("type", "", f"has invalid value: {event.get('type') or ''}"))
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(field):
            out.append(invalid(field, "", "needs to be unset"))
    if event.get("source"):
        out.append(invalid("source", "", "needs to be unset"))
    return out


def _check_series(event: Spec, out: Errors) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        out.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        out.append(required("series.lastObservedTime"))


def validate_new_update(new: Object, old: Object) -> list[FieldError]:
    """A changed event of the new group: only its series grows."""
    event, before = to_core(new), to_core(old)
    out = _check(event, "reportingController")
    if event.get("series") != before.get("series"):
        _check_series(event, out)
    for field, kind in (
        ("involvedObject", "ObjectReference"),
        ("reason", "string"),
        ("message", "string"),
        ("source", "EventSource"),
        ("firstTimestamp", "time"),
        ("lastTimestamp", "time"),
        ("count", "int"),
        ("type", "string"),
        ("eventTime", "time"),
        ("action", "string"),
        ("related", "*ObjectReference"),
        ("reportingComponent", "string"),
        ("reportingInstance", "string"),
    ):
        if event.get(field) != before.get(field):
            at = "reportingController" if field == "reportingComponent" else field
            out.append(shown(kind, event.get(field), at, IMMUTABLE))
    return out


def fields(obj: Spec) -> dict[str, str]:
    """What events can be selected by."""
    about = obj.get("involvedObject") or NOTHING
    controller = obj.get("reportingComponent") or ""
    return {f"involvedObject.{field}": about.get(field) or "" for field in _OBJECT_FIELDS} | {
        "reason": obj.get("reason") or "",
        "reportingComponent": controller,
        "source": (obj.get("source") or NOTHING).get("component") or controller,
        "type": obj.get("type") or "",
    }


def new_fields(obj: Spec) -> dict[str, str]:
    """What events of the new group can be selected by."""
    about = obj.get("regarding") or NOTHING
    return {f"regarding.{field}": about.get(field) or "" for field in _OBJECT_FIELDS} | {
        "reason": obj.get("reason") or "",
        "reportingController": obj.get("reportingController") or "",
        "type": obj.get("type") or "",
    }


def cells(obj: Spec, now: float) -> list[Any]:
    """Last Seen, Type, Reason, Object, Subobject, Source, Message, First Seen, Count, Name."""
    first = age(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = age(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count, series = obj.get("count") or 1, obj.get("series")
    if series is not None:
        last, count = age(series.get("lastObservedTime"), now), series.get("count") or 0
    about, source = obj.get("involvedObject") or NOTHING, obj.get("source") or NOTHING
    target = (about.get("kind") or "").lower()
    component = source.get("component") or obj.get("reportingComponent") or ""
    instance = source.get("host") or obj.get("reportingInstance") or ""
    return [
        last,
        obj.get("type") or "",
        obj.get("reason") or "",
        f"{target}/{about['name']}" if about.get("name") else target,
        about.get("fieldPath") or "",
        f"{component}, {instance}" if instance else component,
        (obj.get("message") or "").strip(),
        first,
        count,
        name_of(obj),
    ]
