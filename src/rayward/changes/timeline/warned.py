"""Events that are recorded: those that are not Normal, as far as an entry tells them."""

from __future__ import annotations

from typing import Final

from rayward.kube.core.event import EventSource, ObjectReference
from rayward.kube.core.objects import KubeObject, Slim
from rayward.kube.core.resource import EVENTS
from rayward.kube.runtime.registry import Source


class Series(Slim, frozen=True, gc=False):
    """How often the same was told, where events.k8s.io counts."""

    count: int = 0
    last_observed_time: str | None = None


_NOTHING: Final = ObjectReference()
_NOBODY: Final = EventSource()
_ONCE: Final = Series()


class Warned(KubeObject, frozen=True, gc=False):
    """A warning; Go writes a series that is not there as null."""

    involved_object: ObjectReference = _NOTHING
    reason: str = ""
    message: str = ""
    source: EventSource = _NOBODY
    last_timestamp: str | None = None
    event_time: str | None = None
    count: int = 0
    series: Series | None = None
    reporting_component: str = ""

    @property
    def times(self) -> int:
        """How often it was told."""
        return max(self.count, (self.series or _ONCE).count, 1)

    @property
    def at(self) -> str | None:
        """When it was told last."""
        last = (self.series or _ONCE).last_observed_time
        return last or self.last_timestamp or self.event_time or self.metadata.creation_timestamp


# what is Normal is told by conditions too, and is most of what there is
WARNINGS: Final = Source(EVENTS, Warned, {"field_selector": "type!=Normal"}, optional=True)
