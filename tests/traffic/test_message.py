"""Heads of HTTP messages."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.traffic.http.message import (
    CHUNKED,
    UNTIL_CLOSE,
    BadMessageError,
    Request,
    may_be_http,
    read_answer,
    read_request,
)

_GET = read_request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def test_a_plain_request_goes_on_as_it_is() -> None:
    head = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Empty:\r\nCookie: a=b; c=d\r\n\r\n"
    assert read_request(head) == Request(b"GET", 0, True, False, head)


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        pytest.param(b"Content-Length: 17\r\n", 17, id="length"),
        pytest.param(b"content-length:17\r\n", 17, id="small-letters"),
        pytest.param(b"Content-Length: 17\r\nContent-Length: 17\r\n", 17, id="the-same-twice"),
        pytest.param(b"Transfer-Encoding: chunked\r\n", CHUNKED, id="chunks"),
        pytest.param(b"X-Content-Length: 9\r\n", 0, id="another-header"),
        pytest.param(b"X: Content-Length: 9\r\n", 0, id="inside-a-value"),
    ],
)
def test_the_length_of_a_request(fields: bytes, length: int) -> None:
    assert read_request(b"POST / HTTP/1.1\r\n" + fields + b"\r\n").length == length


@pytest.mark.timeout(30)
def test_blanks_around_and_inside_a_value_cost_no_more_than_their_number() -> None:
    # Looked at from each of its places, such a run takes minutes.
    blanks = b" " * 150_000
    head = b"POST / HTTP/1.1\r\nConnection:" + blanks + b"a" + blanks + b"b\r\nContent-Length: \t17 \t\r\n\r\n"
    assert read_request(head).length == 17


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close\r\n", False),
        (b"1.1", b"Connection: Keep-Alive, CLOSE\r\n", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: keep-alive\r\n", True),
    ],
)
def test_whether_a_client_stays(version: bytes, connection: bytes, keeps: bool) -> None:
    assert read_request(b"GET / HTTP/" + version + b"\r\n" + connection + b"\r\n").keeps == keeps


def test_headers_of_one_connection_end_here() -> None:
    head = (
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\n"
        b"Proxy-Connection: keep-alive\r\nX-Yours: 2\r\n\r\n"
    )
    assert read_request(head).head == b"GET / HTTP/1.1\r\nHost: x\r\nX-Yours: 2\r\n\r\n"


def test_nobody_hides_the_length_by_naming_it_a_header_of_the_connection() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: content-length, host\r\nContent-Length: 5\r\n\r\n"
    assert read_request(head).head == b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"


def test_an_upgrade_is_passed_on() -> None:
    head = b"GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert read_request(head).head == b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"GET /\r\n\r\n", id="no-version"),
        pytest.param(b"GET / HTTP/3.0\r\n\r\n", id="other-version"),
        pytest.param(b"GET  / HTTP/1.1\r\n\r\n", id="two-spaces"),
        pytest.param(b"G(T / HTTP/1.1\r\n\r\n", id="no-token"),
        pytest.param(b"GET /\x00 HTTP/1.1\r\n\r\n", id="nul"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", id="bare-newline"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", id="bare-return"),
        pytest.param(b"GET / HTTP/1.1\r\n: b\r\n\r\n", id="no-name"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", id="list-of-lengths"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", id="sign"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", id="too-long"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", id="empty-length"),
        pytest.param(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", id="chunks-in-1.0"),
        pytest.param(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", id="twice"
        ),
    ],
)
def test_bad_requests(head: bytes) -> None:
    with pytest.raises(BadMessageError):
        read_request(head)


@pytest.mark.parametrize(
    ("method", "status", "fields", "length"),
    [
        ("GET", 200, b"Content-Length: 3\r\n", 3),
        ("GET", 200, b"Transfer-Encoding: chunked\r\n", CHUNKED),
        ("GET", 200, b"", UNTIL_CLOSE),
        ("GET", 204, b"", 0),
        ("GET", 304, b"Content-Length: 3\r\n", 0),
        ("HEAD", 200, b"Content-Length: 3\r\n", 0),
        ("HEAD", 200, b"Transfer-Encoding: chunked\r\n", 0),
        ("GET", 100, b"", 0),
    ],
)
def test_the_length_of_an_answer(method: str, status: int, fields: bytes, length: int) -> None:
    asked = read_request(f"{method} / HTTP/1.1\r\n\r\n".encode())
    assert read_answer(b"HTTP/1.1 %d X\r\n%s\r\n" % (status, fields), asked).length == length


def test_an_answer_goes_on_as_it_is_unless_it_speaks_of_its_connection() -> None:
    plain = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\n"
    assert read_answer(plain, _GET).head == plain
    closing = read_answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n", _GET)
    assert (closing.keeps, closing.head) == (False, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")


def test_an_old_backend_does_not_close_a_new_client() -> None:
    answer = read_answer(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", _GET)
    assert (answer.keeps, answer.head) == (False, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")


@pytest.mark.parametrize(
    ("status", "interim", "switches"), [(100, True, False), (103, True, False), (101, False, True), (200, False, False)]
)
def test_answers_before_the_answer(status: int, interim: bool, switches: bool) -> None:
    answer = read_answer(b"HTTP/1.1 %d X\r\n\r\n" % status, _GET)
    assert (answer.interim, answer.switches) == (interim, switches)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n",
    ],
)
def test_bad_answers(head: bytes) -> None:
    with pytest.raises(BadMessageError):
        read_answer(head, _GET)


@pytest.mark.parametrize(
    ("data", "possible"),
    [
        (b"G", True),
        (b"GET / HTTP/1.1\r\n", True),
        (b"M-SEARCH * HTTP/1.1", True),
        (b"PRI * HTTP/2.0\r\n\r\n", False),
        (b"get / HTTP/1.1", False),
        (b"\x16\x03\x01", False),
        (b"A" * 40, False),
    ],
)
def test_whether_a_connection_may_be_http(data: bytes, possible: bool) -> None:
    assert may_be_http(data) == possible


_NAMES = st.from_regex(rb"[A-Za-z][A-Za-z-]{0,20}", fullmatch=True)
_VALUES = st.from_regex(rb"[ -~]{0,30}", fullmatch=True)


@given(st.lists(st.tuples(_NAMES, _VALUES), max_size=8))
def test_what_is_passed_on_reads_the_same_again(fields: list[tuple[bytes, bytes]]) -> None:
    head = b"POST /x HTTP/1.1\r\n" + b"".join(b"%s:%s\r\n" % field for field in fields) + b"\r\n"
    try:
        request = read_request(head)
    except BadMessageError:
        return
    again = read_request(request.head)
    assert (again.length, again.method, again.head) == (request.length, request.method, request.head)


def _refused_with(head: bytes) -> int | None:
    try:
        read_request(head)
    except BadMessageError as error:
        return error.status
    return None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for head in (data, b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n"):
        assert _refused_with(head) in (None, 400, 501)
    with contextlib.suppress(BadMessageError):
        assert read_answer(b"HTTP/1.1 200 OK\r\n" + data + b"\r\n\r\n", _GET).status == 200
