"""Where a body ends, told from its bytes as they pass. No input or output."""

from __future__ import annotations

import re
from typing import Final

from rayward.local.traffic.http.message import CHUNKED, UNTIL_CLOSE

_LONGEST_LINE: Final = 8 * 1024
_MOST_TRAILERS: Final = 64 * 1024
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\r\n\x00]*)?\r\n")
_TRAILER: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*\r\n")

_IN_SIZE, _IN_DATA, _AFTER_DATA, _IN_TRAILERS = range(4)


class BadBodyError(Exception):
    """Chunks that are none; the text says why."""


class Body:
    """Follows one body to its end."""

    __slots__ = ("_kind", "_left", "_line", "_state", "_trailers", "done")

    def __init__(self, length: int) -> None:
        self._kind = length
        self._left = max(length, 0)
        self._state = _IN_SIZE
        self._line = b""
        self._trailers = 0
        self.done = length == 0

    def feed(self, data: bytes) -> int:
        """How many of these bytes belong to the body; all, unless it ends in them.

        Raises:
            BadBodyError: They are not chunks.
        """
        size = len(data)
        if self._kind >= 0:
            if size < self._left:
                self._left -= size
                return size
            taken, self._left = self._left, 0
            self.done = True
            return taken
        if self._kind == UNTIL_CLOSE:
            return size
        assert self._kind == CHUNKED
        at = 0
        while at < size and not self.done:
            if self._state == _IN_DATA:
                taken = min(self._left, size - at)
                self._left -= taken
                at += taken
                if not self._left:
                    self._state = _AFTER_DATA
                continue
            end = data.find(b"\n", at) + 1
            part = data[at : end or size]
            self._line = line = self._line + part if self._line else part
            if len(line) > _LONGEST_LINE:
                raise BadBodyError("a line between chunks is too long")
            if not end:
                return size
            at, self._line = end, b""
            self._take_line(line)
        return at

    def _take_line(self, line: bytes) -> None:
        if self._state == _IN_SIZE:
            found = _SIZE.fullmatch(line)
            if found is None:
                raise BadBodyError("the size of a chunk is no number")
            self._left = int(found.group(1), 16)
            self._state = _IN_DATA if self._left else _IN_TRAILERS
        elif self._state == _AFTER_DATA:
            if line != b"\r\n":
                raise BadBodyError("a chunk is longer than it said")
            self._state = _IN_SIZE
        elif line == b"\r\n":
            self.done = True
        else:
            self._trailers += len(line)
            if self._trailers > _MOST_TRAILERS or _TRAILER.fullmatch(line) is None:
                raise BadBodyError("a trailer is malformed")
