"""The heads of HTTP/1 messages: what they say about bodies and connections, and how they go on. Pure.

Only what a proxy must know is looked at; everything else stays the bytes it was. Whatever two readers could
understand in two ways is refused, because the next reader decides where the next request begins.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

LARGEST_HEAD: Final = 64 * 1024
CHUNKED: Final = -1
UNTIL_CLOSE: Final = -2

_LARGEST_BODY: Final = 1 << 62
_LONGEST_METHOD: Final = 32
_REQUEST: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [^\x00-\x20\x7f]+ HTTP/1\.([01])\r\n")
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: [^\r\n\x00]*)?\r\n")
_FIELDS: Final = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*\r\n)*\r\n")
_TELLING: Final = re.compile(
    rb"\r\n(connection|content-length|transfer-encoding|upgrade|keep-alive|proxy-connection):([^\r\n]*)",
    re.IGNORECASE,
)
_BEGINNING: Final = re.compile(rb"[A-Z][A-Z-]*(?: .*)?", re.DOTALL)
# Whoever names these as belonging to one connection wants to hide them from the next reader.
_NEVER_DROPPED: Final = frozenset((b"content-length", b"transfer-encoding", b"host", b"upgrade", b"te"))
_HOPS: Final = frozenset((b"connection", b"keep-alive", b"proxy-connection"))
_REPEATABLE: Final = frozenset((b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"TRACE"))
_SWITCHING: Final = 101
_FINAL: Final = 200
_BODILESS: Final = (204, 304)


class BadMessageError(Exception):
    """A head that cannot be passed on; the text says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a request's head says."""

    method: bytes
    length: int
    """Of its body; CHUNKED if it tells itself."""
    keeps: bool
    """Whether the client wants to send more on this connection."""
    old: bool
    """Whether the client speaks HTTP/1.0."""
    head: bytes
    """As the backend gets it."""

    @property
    def repeatable(self) -> bool:
        """Whether asking twice is as good as once (RFC 9110, 9.2.2)."""
        return self.method in _REPEATABLE

    @property
    def asks_first(self) -> bool:
        """Whether the client may keep its body to itself if the answer comes before it."""
        return b"\r\nexpect:" in self.head.lower()


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What an answer's head says."""

    status: int
    length: int
    """Of its body; CHUNKED or UNTIL_CLOSE if that tells."""
    keeps: bool
    """Whether the backend takes more on this connection."""
    head: bytes
    """As the client gets it."""

    @property
    def interim(self) -> bool:
        """Whether another answer follows."""
        return self.status < _FINAL and self.status != _SWITCHING

    @property
    def switches(self) -> bool:
        """Whether the connection is no longer HTTP after it."""
        return self.status == _SWITCHING


def may_be_http(data: bytes) -> bool:
    """Whether the first bytes of a connection can become a request of HTTP/1; HTTP/2 begins with PRI."""
    return (
        _BEGINNING.fullmatch(data[: _LONGEST_METHOD + 1]) is not None
        and not data.startswith(b"PRI ")
        and (len(data) <= _LONGEST_METHOD or b" " in data[: _LONGEST_METHOD + 1])
    )


def read_request(head: bytes) -> Request:
    """Read the head of a request, its empty line included.

    Raises:
        BadMessageError: It is none, or could be read in two ways.
    """
    first = _REQUEST.match(head)
    if first is None:
        raise BadMessageError(400, "the request line is not of HTTP/1")
    if _FIELDS.fullmatch(head, first.end()) is None:
        raise BadMessageError(400, "a header line is malformed")
    method, old = first.group(1), first.group(2) == b"0"
    if method == b"CONNECT":
        raise BadMessageError(501, "CONNECT is not for services")
    told = _TELLING.findall(head, first.end() - 2)
    if not told:
        return Request(method, 0, not old, old, head)
    length, tokens, hops = _tell(told, 0, 400)
    if length == CHUNKED and old:
        raise BadMessageError(400, "HTTP/1.0 has no chunks")
    keeps = b"keep-alive" in tokens if old else b"close" not in tokens
    if hops:
        kept = [token for token in (b"upgrade", b"te") if token in tokens]
        extra = b"Connection: " + b", ".join(kept) + b"\r\n" if kept else b""
        head = head[: first.end()] + _without(head[first.end() :], tokens) + extra + b"\r\n"
    return Request(method, length, keeps, old, head)


def read_answer(head: bytes, asked: Request) -> Answer:
    """Read the head of an answer, its empty line included.

    Raises:
        BadMessageError: It is none, or could be read in two ways.
    """
    first = _STATUS.match(head)
    if first is None or _FIELDS.fullmatch(head, first.end()) is None:
        raise BadMessageError(502, "its answer is not HTTP/1")
    status, old = int(first.group(2)), first.group(1) == b"0"
    length, tokens, hops = _tell(_TELLING.findall(head, first.end() - 2), UNTIL_CLOSE, 502)
    if status == _SWITCHING:
        return Answer(status, 0, False, head)
    if status < _FINAL or status in _BODILESS or asked.method == b"HEAD":
        length = 0
    keeps = (b"keep-alive" in tokens if old else b"close" not in tokens) and length != UNTIL_CLOSE
    stays = asked.keeps and length != UNTIL_CLOSE
    if hops or old or asked.old or not stays:
        extra = b"" if stays and not asked.old else b"Connection: keep-alive\r\n" if stays else b"Connection: close\r\n"
        head = b"HTTP/1.1" + head[8 : first.end()] + _without(head[first.end() :], tokens) + extra + b"\r\n"
    return Answer(status, length, keeps, head)


def _tell(told: list[tuple[bytes, bytes]], untold: int, status: int) -> tuple[int, set[bytes], bool]:
    """The length, the tokens of Connection, and whether there are headers of one connection at all."""
    length = untold
    seen: bytes | None = None
    chunked = hops = False
    tokens: set[bytes] = set()
    for name, padded in told:
        # Not in the pattern: it would look at each run of blanks from each of its places.
        kind, value = name.lower(), padded.strip(b" \t")
        if kind == b"content-length":
            if not value.isdigit() or len(value) > 19 or (seen is not None and int(seen) != int(value)):
                raise BadMessageError(status, "its Content-Length is not one number")
            seen = value
            length = int(value)
            if length > _LARGEST_BODY:
                raise BadMessageError(status, "its Content-Length is too large")
        elif kind == b"transfer-encoding":
            if chunked or value.lower() != b"chunked":
                raise BadMessageError(max(status, 501), "its Transfer-Encoding is unknown")
            chunked = True
        elif kind in _HOPS:
            hops = True
            if kind == b"connection":
                tokens.update(token.strip().lower() for token in value.split(b","))
    if chunked:
        if seen is not None:
            raise BadMessageError(status, "it has both Content-Length and Transfer-Encoding")
        length = CHUNKED
    return length, tokens, hops


def _without(fields: bytes, tokens: set[bytes]) -> bytes:
    dropped = _HOPS | (tokens - _NEVER_DROPPED)
    lines = fields[:-2].splitlines(keepends=True)
    return b"".join(line for line in lines if line.partition(b":")[0].lower() not in dropped)
