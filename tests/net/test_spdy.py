"""SPDY/3.1 frames: what goes in comes out, in whatever parts it arrives, and nonsense ends in one kind of error."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.net.spdy import (
    Data,
    Decoder,
    Encoder,
    Frame,
    GoAway,
    MoreHeaders,
    Open,
    Ping,
    Reply,
    Reset,
    SpdyError,
    Window,
)
from rayward.net.spdydictionary import DICTIONARY

_IDS = st.integers(1, 2**31 - 1)
_WORDS = st.integers(0, 2**32 - 1)
_NAMES = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=20)
_TEXTS = st.text(st.characters(max_codepoint=255), max_size=60)
_HEADERS = st.lists(st.tuples(_NAMES, _TEXTS), max_size=8).map(tuple)
_FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(Open, _IDS, _HEADERS, st.booleans()),
    st.builds(Reply, _IDS, _HEADERS, st.booleans()),
    st.builds(MoreHeaders, _IDS, _HEADERS, st.booleans()),
    st.builds(Reset, _IDS, _WORDS),
    st.builds(Ping, _WORDS),
    st.builds(GoAway, st.integers(0, 2**31 - 1), _WORDS),
    st.builds(Window, _IDS, st.integers(0, 2**31 - 1)),
    st.builds(Data, _IDS, st.binary(max_size=300), st.booleans()),
)


def _whole(frames: list[Frame]) -> list[Frame]:
    """Frames with the parts of each data frame put together again."""
    joined: list[Frame] = []
    for frame in frames:
        last = joined[-1] if joined else None
        if isinstance(frame, Data) and isinstance(last, Data) and last.stream == frame.stream and not last.fin:
            joined[-1] = Data(frame.stream, last.data + frame.data, frame.fin)
        else:
            joined.append(frame)
    return joined


@given(st.lists(_FRAMES, max_size=12), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_what_one_side_says_the_other_hears_in_whatever_parts_it_arrives(frames: list[Frame], sizes: list[int]) -> None:
    encoder, decoder = Encoder(), Decoder()
    said = b"".join(encoder.encode(frame) for frame in frames)
    heard: list[Frame] = []
    place = turn = 0
    while place < len(said):
        size = sizes[turn % len(sizes)]
        heard += decoder.feed(said[place : place + size])
        place, turn = place + size, turn + 1
    assert _whole(heard) == _whole(frames)


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_garbage_is_frames_or_an_error_and_nothing_else(parts: list[bytes]) -> None:
    decoder = Decoder()
    for part in parts:
        try:
            decoder.feed(part)
        except SpdyError:
            return


@given(st.lists(_FRAMES, min_size=1, max_size=6), st.data())
def test_a_damaged_byte_is_frames_or_an_error_and_nothing_else(frames: list[Frame], data: st.DataObject) -> None:
    encoder = Encoder()
    said = bytearray(b"".join(encoder.encode(frame) for frame in frames))
    place = data.draw(st.integers(0, len(said) - 1))
    said[place] = data.draw(st.integers(0, 255))
    decoder = Decoder()
    try:
        decoder.feed(bytes(said))
    except SpdyError:
        return


def _control(kind: int, body: bytes, *, version: int = 3, length: int | None = None) -> bytes:
    return struct.pack(">II", 0x8000_0000 | version << 16 | kind, len(body) if length is None else length) + body


def _packed(block: bytes) -> bytes:
    packer = zlib.compressobj(zdict=DICTIONARY)
    return packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)


_ONE = struct.pack(">I", 1)
_BOMB = struct.pack(">II", 1, 1) + b"a" + struct.pack(">I", 1 << 24) + b"b" * (1 << 24)
_MANY = struct.pack(">I", 100_000) + struct.pack(">I", 0) * 8


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (_control(1, b"", version=2), "SPDY version 2, not 3"),
        (_control(99, b""), "type 99"),
        (_control(3, _ONE), "type 3 and 4 bytes"),
        (_control(2, struct.pack(">I", 0) + _packed(b"\0\0\0\0")), "stream 0"),
        (struct.pack(">II", 0, 0), "stream 0"),
        (_control(1, b"", length=1 << 20), "a control frame of 1048576 bytes"),
        (_control(2, _ONE + b"no zlib"), "cannot be unpacked"),
        (_control(2, _ONE + _packed(_BOMB)), "more than"),
        (_control(2, _ONE + _packed(_MANY)), "100000 headers"),
        (_control(2, _ONE + _packed(struct.pack(">II", 1, 500) + b"x")), "cut short"),
        (_control(2, _ONE + _packed(struct.pack(">I", 0) + b"more")), "cut short"),
    ],
    ids=[
        "another version",
        "an unknown frame",
        "a frame without its end",
        "a reply to nobody",
        "data for nobody",
        "a huge frame",
        "headers that are not packed",
        "headers that unpack without end",
        "too many headers",
        "a header longer than all of them",
        "more than was counted",
    ],
)
def test_what_no_peer_may_say(said: bytes, why: str) -> None:
    with pytest.raises(SpdyError, match=why):
        Decoder().feed(said)


def test_settings_are_nobodys_business() -> None:
    assert Decoder().feed(_control(4, struct.pack(">III", 1, 4, 100)) + Encoder().encode(Ping(1))) == [Ping(1)]


def test_a_long_frame_is_handed_on_as_it_comes() -> None:
    decoder = Decoder()
    head = struct.pack(">II", 1, 1 << 24 | 1 << 20)
    assert decoder.feed(head + b"a" * 10) == [Data(1, b"a" * 10)]
    assert decoder.feed(b"b" * 20) == [Data(1, b"b" * 20)]
    (last,) = decoder.feed(b"c" * ((1 << 20) - 30))
    assert isinstance(last, Data)
    assert last.fin


def test_names_of_headers_are_sent_in_lower_case() -> None:
    assert Decoder().feed(Encoder().encode(Open(1, (("streamType", "Error"),)))) == [
        Open(1, (("streamtype", "Error"),))
    ]


def test_the_dictionary_is_the_protocols() -> None:
    # as it stands in section 2.6.10.1 of the draft: 1423 bytes
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    assert hashlib.sha256(DICTIONARY).hexdigest().startswith("51d27341373f923f")


def test_headers_packed_by_another_program_are_read() -> None:
    """The first bytes that client-go sends for a stream of port-forward."""
    said = bytes.fromhex(_FROM_CLIENT_GO)
    assert Decoder().feed(said) == [
        Open(1, (("streamtype", "error"), ("port", "8000"), ("requestid", "0"))),
    ]


_FROM_CLIENT_GO = (
    "800300010000003e0000000100000000000078f9e3c6a7c202253a703a2b294a4dcc851625aca9a0808614cb45e01c606160"
    "60c0c0c0c0590489c64c50f2663400000000ffff"
)
