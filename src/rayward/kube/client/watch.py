"""What a watch stream says: bytes in, changes out."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import msgspec

from rayward.kube.client.errors import ApiError, from_status
from rayward.kube.core.objects import KubeObject, ObjectMeta
from rayward.net.errors import ProtocolError

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
MAX_LINE: Final = 64 * 1024 * 1024

T = TypeVar("T", bound=KubeObject)


class ChangeType(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One object was added, modified or deleted; ``raw`` is it whole."""

    type: ChangeType
    object: T
    raw: msgspec.Raw

    def whole(self) -> dict[str, Any]:
        """The whole object, decoded."""
        return _OBJECTS.decode(self.raw)


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """Everything up to ``resource_version`` was sent."""

    resource_version: str
    initial_events_end: bool


class WatchFailed(msgspec.Struct, frozen=True):
    """The server ends the watch and says why; a 410 means that a new list is needed."""

    error: ApiError


class Unreadable(msgspec.Struct, frozen=True):
    """One object changed, but has not the shape that we read; the others must not wait for it."""

    type: ChangeType
    metadata: ObjectMeta
    problem: str


class _Envelope(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_ENVELOPES: Final = msgspec.json.Decoder(_Envelope)
_ANY: Final = msgspec.json.Decoder(KubeObject)
_OBJECTS: Final = msgspec.json.Decoder(dict[str, Any])
_DECODERS: Final[dict[type[Any], msgspec.json.Decoder[Any]]] = {}
_CHANGES: Final = {kind.value: kind for kind in ChangeType}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a slim type, made once."""
    found = _DECODERS.get(kind)
    if found is None:
        found = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return found


WatchEvent = Change[T] | Bookmark | Unreadable | WatchFailed


class LineSplitter:
    """Cuts a byte stream into lines; a line may be as long as an object can be."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without their ends.

        Raises:
            ProtocolError: A line is longer than the limit.
        """
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._rest:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
            self._size = 0
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise ProtocolError(f"a line of the watch is longer than {self._limit} bytes")
        return [line for line in lines if line]


class WatchDecoder(Generic[T]):
    """Turns the bytes of one watch into events and remembers where to go on from.

    ``resource_version`` moves with every change and bookmark. A watch that began without one, or with ``"0"``,
    starts with the present objects in no order: their versions are no place to go on from, so it moves only once
    something other than ADDED was seen.
    """

    def __init__(self, kind: type[T], resource_version: str = "") -> None:
        self.resource_version = resource_version
        self._decoder = decoder(kind)
        self._ordered = resource_version not in ("", "0")
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> list[WatchEvent[T]]:
        """The events that ``data`` completes, in order.

        Raises:
            ProtocolError: The bytes are no watch stream.
        """
        return [event for line in self._lines.feed(data) if (event := self._event(line)) is not None]

    def _event(self, line: bytes) -> WatchEvent[T] | None:
        try:
            envelope = _ENVELOPES.decode(line)
            kind = _CHANGES.get(envelope.type)
            if kind is not None:
                return self._change(kind, envelope.object)
            if envelope.type == "BOOKMARK":
                metadata = _ANY.decode(envelope.object).metadata
                self._move(metadata.resource_version, ordered=True)
                return Bookmark(metadata.resource_version, metadata.annotation(INITIAL_EVENTS_END) == "true")
            if envelope.type == "ERROR":
                return WatchFailed(from_status(_OBJECTS.decode(envelope.object)))
        except msgspec.DecodeError as error:
            raise ProtocolError(f"not an event of a watch: {error}: {line[:200]!r}") from error
        return None  # a type of event that does not exist yet

    def _change(self, kind: ChangeType, raw: msgspec.Raw) -> Change[T] | Unreadable:
        try:
            changed = self._decoder.decode(raw)
        except msgspec.ValidationError as error:
            metadata = _ANY.decode(raw).metadata
            self._move(metadata.resource_version, kind is not ChangeType.ADDED)
            return Unreadable(kind, metadata, str(error))
        self._move(changed.metadata.resource_version, kind is not ChangeType.ADDED)
        return Change(kind, changed, raw)

    def _move(self, resource_version: str, ordered: bool) -> None:
        self._ordered = self._ordered or ordered
        if self._ordered and resource_version:
            self.resource_version = resource_version
