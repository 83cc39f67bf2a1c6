"""SPDY/3.1 without input and output: bytes become frames, frames become bytes.

Kubernetes still speaks it below ``exec`` and ``port-forward``. Source: the SPDY/3.1 draft. No window is counted: the
one other implementation that is left, client-go's, counts none either, and would never open one again.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rayward.net.spdydictionary import DICTIONARY

Headers = Sequence[tuple[str, str]]

_VERSION: Final = 3
_CONTROL: Final = 0x8000_0000
_ID: Final = 0x7FFF_FFFF
_FIN: Final = 1
_OPEN, _REPLY, _RESET, _SETTINGS, _PING, _GO_AWAY, _HEADERS, _WINDOW = 1, 2, 3, 4, 6, 7, 8, 9
_LARGEST_CONTROL: Final = 64 * 1024
_LARGEST_BLOCK: Final = 256 * 1024
_MOST_HEADERS: Final = 256
_LARGEST_DATA: Final = (1 << 24) - 1
_HEAD: Final = struct.Struct(">II")
_WORD: Final = struct.Struct(">I")

PROTOCOL_ERROR: Final = 1
REFUSED_STREAM: Final = 3
CANCEL: Final = 5


class SpdyError(ValueError):
    """The peer does not speak SPDY/3.1, or asks for more than we give; the connection cannot go on."""


@dataclass(frozen=True, slots=True)
class Open:
    """A new stream (SYN_STREAM)."""

    stream: int
    headers: Headers
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The stream is accepted (SYN_REPLY)."""

    stream: int
    headers: Headers = ()
    fin: bool = False


@dataclass(frozen=True, slots=True)
class MoreHeaders:
    """Headers of a stream that is open (HEADERS)."""

    stream: int
    headers: Headers
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The stream ended at once, in both directions (RST_STREAM)."""

    stream: int
    code: int


@dataclass(frozen=True, slots=True)
class Ping:
    """Asks for the same in return (PING)."""

    number: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No stream after ``last`` is taken (GOAWAY)."""

    last: int
    code: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """The peer may send that much more (WINDOW_UPDATE)."""

    stream: int
    more: int


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream; a long frame arrives in parts, of which the last carries ``fin``."""

    stream: int
    data: bytes
    fin: bool = False


class _Settings:
    """Wishes of the peer (SETTINGS) that concern nothing we do."""


Frame = Open | Reply | MoreHeaders | Reset | Ping | GoAway | Window | Data


class Decoder:
    """What one side hears. Holds no more than one control frame."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._blocks = zlib.decompressobj(zdict=DICTIONARY)
        # of the data frame that is arriving
        self._stream = 0
        self._left = 0
        self._fin = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that ``data`` completes, and what it brings of data frames.

        Raises:
            SpdyError: Nothing more can be read from this peer.
        """
        self._rest += data
        frames: list[Frame] = []
        while (frame := self._next()) is not None:
            if not isinstance(frame, _Settings):
                frames.append(frame)
        return frames

    def _next(self) -> Frame | _Settings | None:
        """The next frame; None: more bytes are needed."""
        if self._left:
            return self._part()
        if len(self._rest) < _HEAD.size:
            return None
        first, second = _HEAD.unpack_from(self._rest)
        length, flags = second & 0xFFFFFF, second >> 24
        if not first & _CONTROL:
            del self._rest[: _HEAD.size]
            self._stream, self._left, self._fin = first, length, bool(flags & _FIN)
            if not first:
                raise SpdyError("data for stream 0")
            return self._part() if length else Data(first, b"", self._fin)
        if (first >> 16) & 0x7FFF != _VERSION:
            raise SpdyError(f"SPDY version {(first >> 16) & 0x7FFF}, not 3")
        if length > _LARGEST_CONTROL:
            raise SpdyError(f"a control frame of {length} bytes")
        if len(self._rest) < _HEAD.size + length:
            return None
        body = bytes(self._rest[_HEAD.size : _HEAD.size + length])
        del self._rest[: _HEAD.size + length]
        return self._control(first & 0xFFFF, flags, body)

    def _part(self) -> Data | None:
        if not self._rest:
            return None
        taken = bytes(self._rest[: self._left])
        del self._rest[: len(taken)]
        self._left -= len(taken)
        return Data(self._stream, taken, self._fin and not self._left)

    def _control(self, kind: int, flags: int, body: bytes) -> Frame | _Settings:
        words = [_WORD.unpack_from(body, place)[0] for place in range(0, min(len(body) & ~3, 8), 4)]
        fin = bool(flags & _FIN)
        if kind == _SETTINGS:
            return _Settings()
        needed = {_OPEN: 10, _REPLY: 4, _HEADERS: 4, _PING: 4}.get(kind, 8)
        if kind not in (_OPEN, _REPLY, _HEADERS, _PING, _RESET, _GO_AWAY, _WINDOW) or len(body) < needed:
            raise SpdyError(f"a control frame of type {kind} and {len(body)} bytes")
        stream = words[0] & _ID
        if kind == _PING:
            return Ping(words[0])
        if kind == _GO_AWAY:
            return GoAway(stream, words[1])
        if kind == _WINDOW:
            return Window(stream, words[1] & _ID)
        if not stream:
            raise SpdyError("a control frame for stream 0")
        if kind == _RESET:
            return Reset(stream, words[1])
        headers = self._headers(body[needed:])
        return {_OPEN: Open, _REPLY: Reply, _HEADERS: MoreHeaders}[kind](stream, headers, fin)

    def _headers(self, block: bytes) -> Headers:
        try:
            plain = self._blocks.decompress(block, _LARGEST_BLOCK)
        except zlib.error as error:
            raise SpdyError(f"headers cannot be unpacked: {error}") from error
        if self._blocks.unconsumed_tail or self._blocks.eof:
            raise SpdyError(f"headers of more than {_LARGEST_BLOCK} bytes, or after the end")
        texts: list[str] = []
        try:
            (count,) = _WORD.unpack_from(plain)
            if count > _MOST_HEADERS:
                raise SpdyError(f"{count} headers")
            place = _WORD.size
            for _ in range(2 * count):
                (length,) = _WORD.unpack_from(plain, place)
                place += _WORD.size + length
                texts.append(plain[place - length : place].decode("latin-1"))
        except struct.error as error:
            raise SpdyError("headers are cut short") from error
        if place != len(plain):
            raise SpdyError("headers are cut short")
        return tuple(zip(texts[::2], texts[1::2], strict=True))


class Encoder:
    """What one side says."""

    def __init__(self) -> None:
        self._blocks = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        """The bytes of a frame; headers depend on all that were encoded before."""
        match frame:
            case Data(stream, data, fin):
                if len(data) > _LARGEST_DATA:
                    raise ValueError(f"a data frame of {len(data)} bytes")
                return _HEAD.pack(stream, fin << 24 | len(data)) + data
            case Open(stream, headers, fin):
                return _control(_OPEN, fin, struct.pack(">IIH", stream, 0, 0) + self._packed(headers))
            case Reply(stream, headers, fin):
                return _control(_REPLY, fin, _WORD.pack(stream) + self._packed(headers))
            case MoreHeaders(stream, headers, fin):
                return _control(_HEADERS, fin, _WORD.pack(stream) + self._packed(headers))
            case Ping(number):
                return _control(_PING, False, _WORD.pack(number))
            case Reset(one, other):
                return _control(_RESET, False, _HEAD.pack(one, other))
            case GoAway(one, other):
                return _control(_GO_AWAY, False, _HEAD.pack(one, other))
            case Window(one, other):
                return _control(_WINDOW, False, _HEAD.pack(one, other))

    def _packed(self, headers: Headers) -> bytes:
        texts = [text.encode("latin-1") for name, value in headers for text in (name.lower(), value)]
        block = _WORD.pack(len(headers)) + b"".join(_WORD.pack(len(text)) + text for text in texts)
        return self._blocks.compress(block) + self._blocks.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, fin: bool, body: bytes) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION << 16 | kind, fin << 24 | len(body)) + body
