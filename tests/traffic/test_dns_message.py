"""DNS messages, byte by byte."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.traffic.dns import message
from rayward.local.traffic.dns.message import Code, Kind, MalformedError, read, write


def query(name: str, kind: int = Kind.A, *, number: int = 7, size: int | None = None, flags: int = 0x0100) -> bytes:
    """A question as a resolver sends it."""
    head = struct.pack("!HHHHHH", number, flags, 1, 0, 0, 0 if size is None else 1)
    option = b"" if size is None else b"\0" + struct.pack("!HHIH", 41, size, 0, 0)
    return head + message.encode_name(name) + struct.pack("!HH", kind, 1) + option


def test_a_question() -> None:
    question = read(query("Web.Default.svc.cluster.local", Kind.SRV, size=1232))
    assert question is not None
    assert (question.number, question.name, question.kind) == (7, "web.default.svc.cluster.local", Kind.SRV)
    assert (question.recursion, question.size) == (True, 1232)


def test_an_answer_gives_the_question_back_as_it_was_spelt() -> None:
    asked = query("WEB.x")
    question = read(asked)
    assert question is not None
    data = write(question, Code.OK, [message.address("web.x", "10.43.0.7")], None)
    assert data[:12] == struct.pack("!HHHHHH", 7, 0x8580, 1, 1, 0, 0)
    assert data[12:] == asked[12:] + b"\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\x0a\x2b\0\x07"


def test_what_does_not_fit_is_cut_and_says_so() -> None:
    question = read(query("web.x"))
    assert question is not None
    records = [message.address("web.x", f"10.42.0.{number}") for number in range(1, 101)]
    short, whole = write(question, Code.OK, records, 512), write(question, Code.OK, records, None)
    assert len(short) <= 512
    assert (short[2] & 0x02, whole[2] & 0x02) == (2, 0)
    assert struct.unpack_from("!H", whole, 6) == (100,)


def test_what_is_an_answer_is_not_answered() -> None:
    assert read(query("x", flags=0x8000)) is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(query("x")[:12], Code.MALFORMED, id="no-question"),
        pytest.param(query("x")[:-1], Code.MALFORMED, id="cut-off"),
        pytest.param(query("x")[:12] + b"\xc0\x0c\0\x01\0\x01", Code.MALFORMED, id="pointer"),
        pytest.param(query("x")[:12] + b"\x3f" * 400, Code.MALFORMED, id="endless-name"),
        pytest.param(query("x", flags=0x2800), Code.NOT_DONE, id="an-update"),
        pytest.param(b"\0\7\1\0\0\2" + query("x")[6:], Code.MALFORMED, id="two-questions"),
        pytest.param(query("x")[:-1] + b"\3", Code.REFUSED, id="chaos"),
    ],
)
def test_bad_questions(data: bytes, code: Code) -> None:
    with pytest.raises(MalformedError) as caught:
        read(data)
    assert (caught.value.number, caught.value.code) == (7, code)


_LABEL = st.from_regex(r"[a-z0-9_-]{1,63}", fullmatch=True)


@given(st.lists(_LABEL, min_size=1, max_size=3), st.integers(min_value=0, max_value=65535), st.sampled_from(Kind))
def test_names_survive(labels: list[str], number: int, kind: Kind) -> None:
    question = read(query(".".join(labels), kind, number=number))
    assert question is not None
    assert (question.name, question.number, question.kind) == (".".join(labels), number, kind)


@given(st.binary(max_size=600))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        question = read(data)
    except MalformedError:
        return
    if question is not None:
        assert len(write(question, Code.NO_SUCH_NAME, [], 512)) <= 512
