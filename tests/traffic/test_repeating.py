"""Requests that may be sent twice."""

from __future__ import annotations

import errno

import pytest

from rayward.local.traffic.http.message import read_request
from rayward.local.traffic.http.repeating import is_sent_at_once, may_ask_again, may_meet_an_end, was_unread


@pytest.mark.parametrize(
    ("kept", "repeatable", "unread", "attempts", "again"),
    [
        pytest.param(True, True, False, 1, True, id="GET"),
        pytest.param(True, False, True, 1, True, id="POST-never-read"),
        pytest.param(True, False, False, 1, False, id="POST-read"),
        pytest.param(False, True, True, 1, False, id="body-gone"),
        pytest.param(True, True, True, 4, False, id="often-enough"),
    ],
)
def test_when_a_request_may_be_sent_again(
    kept: bool, repeatable: bool, unread: bool, attempts: int, again: bool
) -> None:
    assert may_ask_again(kept=kept, repeatable=repeatable, unread=unread, attempts=attempts) == again


@pytest.mark.parametrize(
    ("error", "at_once", "unread"),
    [
        pytest.param(errno.EPIPE, True, True, id="closed-before-it-came"),
        pytest.param(errno.ECONNRESET, True, True, id="left-in-the-queue-of-a-listener"),
        pytest.param(errno.EPIPE, False, False, id="closed-between-two-parts"),
        pytest.param(errno.ECONNRESET, False, False, id="reset-with-the-second-part-unread"),
        pytest.param(errno.ETIMEDOUT, True, False, id="network-gone"),
        pytest.param(errno.EHOSTUNREACH, True, False, id="host-gone"),
        pytest.param(0, True, False, id="closed"),
        pytest.param(None, True, False, id="hung-up"),
    ],
)
def test_what_a_backend_did_not_read(error: int | None, at_once: bool, unread: bool) -> None:
    assert was_unread(error, at_once=at_once) == unread


@pytest.mark.parametrize(
    ("method", "fields", "at_once", "may"),
    [
        pytest.param("POST", "Content-Length: 1000", True, False, id="POST"),
        pytest.param("PUT", "Content-Length: 1000", False, True, id="PUT"),
        pytest.param("POST", "Content-Length: 200000", False, False, id="large-POST"),
        pytest.param("PUT", "Content-Length: 200000", False, False, id="large-PUT"),
        pytest.param("PUT", "Transfer-Encoding: chunked", False, False, id="chunks"),
        pytest.param("POST", "Content-Length: 1000\r\nExpect: 100-continue", False, False, id="asks-first"),
    ],
)
def test_a_request_whose_body_is_under_way(method: str, fields: str, at_once: bool, may: bool) -> None:
    request = read_request(f"{method} / HTTP/1.1\r\n{fields}\r\n\r\n".encode())
    assert (is_sent_at_once(request), may_meet_an_end(request, whole=None)) == (at_once, may)


@pytest.mark.parametrize(("whole", "may"), [(100, True), (65536, True), (65537, False)])
def test_a_request_that_is_whole(whole: int, may: bool) -> None:
    request = read_request(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert may_meet_an_end(request, whole=whole) == may
