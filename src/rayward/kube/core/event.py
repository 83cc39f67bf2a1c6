"""Event of core/v1, whole: the recorder writes it."""

from __future__ import annotations

from rayward.kube.core.objects import KubeObject, Slim


class ObjectReference(Slim, frozen=True, gc=False):
    """The object an event is about."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(Slim, frozen=True, gc=False):
    component: str = ""
    host: str = ""


_NOTHING = ObjectReference()
_NOBODY = EventSource()


class Event(KubeObject, frozen=True, gc=False):
    """One thing that happened, perhaps several times."""

    involved_object: ObjectReference = _NOTHING
    type: str = ""
    reason: str = ""
    message: str = ""
    source: EventSource = _NOBODY
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    reporting_component: str = ""
    reporting_instance: str = ""
