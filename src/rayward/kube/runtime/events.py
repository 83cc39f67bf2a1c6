"""Tells users what happened: Events of core/v1, as ``kubectl describe`` shows them."""

from __future__ import annotations

import logging
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.core.event import ObjectReference
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import EVENTS, Resource
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.folding import Folder, Happening
from rayward.kube.runtime.workers import DONE, Result, Workers
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
_WAITING: Final = 4096
_REMEMBERED: Final = 4096
_LONGEST_MESSAGE: Final = 1024
_WORKERS: Final = 2
"""Few: in a burst, what is told must not take the server from what is decided (client-go has one)."""
_A_SECOND: Final = 25.0
_BURST: Final = 1000
"""Beyond a burst events are written at a pace that leaves the server to what reconciles; their times are those at which
they were recorded."""
_MOST_PER_GENERATION: Final = 1024

Slot = tuple[str, ...]
EventType = Literal["Normal", "Warning"]


@dataclass(slots=True)
class _Waiting:
    name: str
    happening: Happening
    count: int
    first: str
    last: str


@dataclass(slots=True)
class _Written:
    name: str
    count: int


def reference(resource: Resource, about: KubeObject) -> ObjectReference:
    """How an Event points to an object."""
    metadata = about.metadata
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


class EventRecorder:
    """Takes happenings without waiting and writes them in the background, repeated ones as one with a count."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        instance: str = "",
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
        unique: Callable[[], int] = time.time_ns,
    ) -> None:
        self.dropped = 0
        """How many were not written: too many, or refused by the server."""
        self._client = client
        self._component = component
        self._instance = instance
        self._clock = clock
        self._unique = unique
        self._folder = Folder()
        self._pace = TokenBucket(_A_SECOND, _BURST)
        self._waiting: dict[Slot, _Waiting] = {}
        self._written: OrderedDict[Slot, _Written] = OrderedDict()
        self._workers: Workers[Slot] = Workers("events", self._write, workers=_WORKERS, clock=clock, chance=chance)

    def of_component(self, component: str, decisions: Collection[str] = ()) -> ComponentRecorder:
        """Records under another name through the same queue; events with reasons of ``decisions`` are never dropped."""
        return ComponentRecorder(self, component, decisions)

    def record(
        self,
        about: ObjectReference,
        kind: EventType,
        reason: str,
        message: str,
        component: str | None = None,
        *,
        decision: bool = False,
    ) -> None:
        """Record what happened to an object, and log it: the log has those too that are folded or dropped."""
        level = logging.WARNING if kind == "Warning" else logging.INFO
        _log.log(level, "%s %s/%s: %s: %s", about.kind, about.namespace, about.name, reason, message)
        happening = Happening(about, kind, reason, _shortened(message), component or self._component, decision)
        folded = self._folder.fold(happening, self._clock.now())
        if folded is None:
            self.dropped += 1
            return
        when = rfc3339(self._clock.utc())
        waiting = self._waiting.get(folded.slot)
        if waiting is not None:
            waiting.happening, waiting.last = folded.happening, when
            waiting.count += 1
        elif len(self._waiting) >= _WAITING and not decision:
            self.dropped += 1
            return
        else:
            # Named now: if the answer to its creation is lost, the next try finds it instead of making another.
            name = f"{about.name}.{self._unique():x}"
            self._waiting[folded.slot] = _Waiting(name, folded.happening, 1, when, when)
        # Not behind thousands of others, which are written at a pace.
        self._workers.add(folded.slot, priority=int(decision))

    @property
    def idle(self) -> bool:
        """Whether all is written."""
        return self._workers.idle

    async def run(self) -> None:
        await self._workers.run()

    async def _write(self, slot: Slot) -> Result:
        if (wait := self._pace.take(self._clock.now())) > 0:
            await self._clock.sleep(wait)
        waiting = self._waiting.pop(slot, None)
        if waiting is None:
            return DONE
        try:
            if not await self._count_up(slot, waiting):
                await self._create(slot, waiting)
        except ApiError as error:
            if error.retryable and waiting.happening.decision:
                self._wait_again(slot, waiting)
                raise
            # Refused (the namespace is going away, no right to): asking again changes nothing.
            self.dropped += waiting.count
            _log.debug("event %s of %s was refused: %s", waiting.happening.reason, waiting.happening.about.name, error)
        except NetworkError:
            self._wait_again(slot, waiting)
            raise
        return DONE

    def _wait_again(self, slot: Slot, waiting: _Waiting) -> None:
        newer = self._waiting.get(slot)
        if newer is not None:
            newer.count += waiting.count
            newer.name, newer.first = waiting.name, waiting.first
        else:
            self._waiting[slot] = waiting

    async def _count_up(self, slot: Slot, waiting: _Waiting) -> bool:
        written = self._written.get(slot)
        if written is None:
            return False
        count = written.count + waiting.count
        change = {"count": count, "lastTimestamp": waiting.last, "message": waiting.happening.message}
        namespace = waiting.happening.about.namespace or "default"
        try:
            await self._client.answer(verbs.patch(EVENTS, written.name, change, PatchType.MERGE, namespace))
        except NotFound:
            # Events live an hour.
            del self._written[slot]
            return False
        written.count = count
        self._written.move_to_end(slot)
        return True

    async def _create(self, slot: Slot, waiting: _Waiting) -> None:
        happening = waiting.happening
        about = happening.about
        namespace = about.namespace or "default"
        source = {"component": happening.component, **({"host": self._instance} if self._instance else {})}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": waiting.name, "namespace": namespace},
            "involvedObject": msgspec.to_builtins(about),
            "type": happening.type,
            "reason": happening.reason,
            "message": happening.message,
            "source": source,
            "firstTimestamp": waiting.first,
            "lastTimestamp": waiting.last,
            "count": waiting.count,
            "reportingComponent": happening.component,
            "reportingInstance": self._instance,
        }
        with suppress(AlreadyExists):
            await self._client.answer(verbs.create(EVENTS, event, namespace))
        self._written[slot] = _Written(waiting.name, waiting.count)
        if len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ComponentRecorder:
    """A recorder that speaks as one component."""

    recorder: EventRecorder
    component: str
    decisions: Collection[str] = ()

    def event(self, resource: Resource, about: KubeObject, kind: EventType, reason: str, message: str) -> None:
        """Record what happened to an object."""
        decision = reason in self.decisions
        self.recorder.record(reference(resource, about), kind, reason, message, self.component, decision=decision)


class EventFilter:
    """Which events of one object were recorded for its generation; forgetting them costs a repetition.

    A reconcile that sees the same problem again and again records it once for each generation of the spec.
    """

    def __init__(self) -> None:
        self._generation = -1
        self._recorded: dict[tuple[str, str], None] = {}

    def is_new(self, generation: int, reason: str, message: str) -> bool:
        """Whether this is the first time; from then on it is not."""
        if generation != self._generation:
            self._generation = generation
            self._recorded.clear()
        if (reason, message) in self._recorded:
            return False
        if len(self._recorded) >= _MOST_PER_GENERATION:
            del self._recorded[next(iter(self._recorded))]
        self._recorded[reason, message] = None
        return True


def _shortened(message: str) -> str:
    # The server refuses longer ones.
    encoded = message.encode()
    if len(encoded) <= _LONGEST_MESSAGE:
        return message
    return encoded[: _LONGEST_MESSAGE - 3].decode(errors="ignore") + "..."
