"""DNS messages (RFC 1035, 2782, 6891), as far as a server of a few kinds of records needs them. Pure."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

import msgspec

LARGEST: Final = 4096
SMALLEST: Final = 512

_HEADER: Final = struct.Struct("!HHHHHH")
_TAIL: Final = struct.Struct("!HH")
_RECORD: Final = struct.Struct("!HHIH")
_SRV: Final = struct.Struct("!HHH")
_LONGEST_NAME: Final = 255
_LONGEST_LABEL: Final = 63
_IS_ANSWER: Final = 0x8000
_OPCODE: Final = 0x7800
_AUTHORITATIVE: Final = 0x0400
_TRUNCATED: Final = 0x0200
_WANTS_RECURSION: Final = 0x0100
_CAN_RECURSE: Final = 0x0080
_INTERNET: Final = 1
_QUESTION_NAME: Final = b"\xc0\x0c"
_ROOT: Final = b"\x00"


class Kind(IntEnum):
    A = 1
    NS = 2
    CNAME = 5
    SOA = 6
    PTR = 12
    AAAA = 28
    SRV = 33
    OPT = 41
    ANY = 255


class Code(IntEnum):
    """How a question went."""

    OK = 0
    MALFORMED = 1
    FAILED = 2
    NO_SUCH_NAME = 3
    NOT_DONE = 4
    REFUSED = 5


class MalformedError(Exception):
    """Bytes that are no question; ``number`` is its id if it has one."""

    def __init__(self, reason: str, number: int | None, code: Code = Code.MALFORMED) -> None:
        super().__init__(reason)
        self.number = number
        self.code = code


class Question(msgspec.Struct, frozen=True):
    number: int
    name: str
    """In small letters, without the last dot."""
    kind: int
    raw: bytes
    """The question as it was sent: its spelling is given back."""
    recursion: bool
    size: int | None
    """The largest answer the client takes by UDP, if it said."""


class Record(msgspec.Struct, frozen=True):
    """One record of an answer."""

    name: str
    kind: Kind
    data: bytes
    ttl: int = 5


def address(name: str, value: str) -> Record:
    return Record(name, Kind.A, ipaddress.IPv4Address(value).packed)


def alias(name: str, target: str) -> Record:
    """Another name for it."""
    return Record(name, Kind.CNAME, encode_name(target))


def pointer(name: str, target: str) -> Record:
    """The name of an address."""
    return Record(name, Kind.PTR, encode_name(target))


def service(name: str, port: int, target: str, weight: int = 100) -> Record:
    """Host and port of a service."""
    return Record(name, Kind.SRV, _SRV.pack(0, weight, port) + encode_name(target))


def read(data: bytes) -> Question | None:
    """A question; None for what is an answer, which nobody asked for here.

    Raises:
        MalformedError: It cannot be answered.
    """
    if len(data) < _HEADER.size:
        raise MalformedError("too short", None)
    number, flags, questions, answers, authorities, more = _HEADER.unpack_from(data)
    if flags & _IS_ANSWER:
        return None
    if flags & _OPCODE:
        raise MalformedError("not a query", number, Code.NOT_DONE)
    if questions != 1 or answers or authorities:
        raise MalformedError("not one question", number)
    name, at = _read_name(data, _HEADER.size, number)
    if at + _TAIL.size > len(data):
        raise MalformedError("the question is cut off", number)
    kind, place = _TAIL.unpack_from(data, at)
    if place != _INTERNET:
        raise MalformedError("not of the Internet", number, Code.REFUSED)
    at += _TAIL.size
    raw = data[_HEADER.size : at]
    size = _read_size(data, at, number) if more else None
    return Question(number, name, kind, raw, bool(flags & _WANTS_RECURSION), size)


def _read_name(data: bytes, at: int, number: int) -> tuple[str, int]:
    labels: list[str] = []
    start = at
    while True:
        if at >= len(data) or at - start > _LONGEST_NAME:
            raise MalformedError("the name has no end", number)
        length = data[at]
        at += 1
        if not length:
            break
        if length > _LONGEST_LABEL:
            raise MalformedError("a question has no pointers", number)
        label = data[at : at + length]
        at += length
        if len(label) < length:
            raise MalformedError("the name is cut off", number)
        # Dots inside a label, or bytes that are no letters, are in no name of ours.
        labels.append(label.decode("latin-1").lower().replace(".", "\\."))
    return ".".join(labels), at


def _read_size(data: bytes, at: int, number: int) -> int | None:
    if at + 1 + _RECORD.size > len(data):
        raise MalformedError("a record is cut off", number)
    if data[at]:
        return None
    kind, size, _, _ = _RECORD.unpack_from(data, at + 1)
    return max(SMALLEST, min(size, LARGEST)) if kind == Kind.OPT else None


def encode_name(name: str) -> bytes:
    """A name in the form of a message."""
    parts = [label.encode("latin-1") for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes((len(part),)) + part for part in parts) + _ROOT


def write(question: Question, code: Code, records: Sequence[Record], limit: int | None) -> bytes:
    """An answer; one that is longer than ``limit`` says so and holds what fits."""
    flags = _IS_ANSWER | _AUTHORITATIVE | _CAN_RECURSE | code | (_WANTS_RECURSION if question.recursion else 0)
    option = b"" if question.size is None else _ROOT + _RECORD.pack(Kind.OPT, LARGEST, 0, 0)
    room = (limit or 65535) - _HEADER.size - len(question.raw) - len(option)
    body = b""
    count = 0
    for record in records:
        name = _QUESTION_NAME if record.name == question.name else encode_name(record.name)
        one = name + _RECORD.pack(record.kind, _INTERNET, record.ttl, len(record.data)) + record.data
        if len(body) + len(one) > room:
            flags |= _TRUNCATED
            break
        body += one
        count += 1
    header = _HEADER.pack(question.number, flags, 1, count, 0, 1 if option else 0)
    return header + question.raw + body + option


def write_error(number: int, code: Code) -> bytes:
    """An answer to what was not understood."""
    return _HEADER.pack(number, _IS_ANSWER | code, 0, 0, 0, 0)
