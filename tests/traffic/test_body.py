"""Where bodies end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.traffic.http.body import BadBodyError, Body
from rayward.local.traffic.http.message import CHUNKED, UNTIL_CLOSE


def _feed(body: Body, data: bytes, cuts: list[int]) -> int:
    """Feed in pieces; returns how many bytes were the body's."""
    taken = 0
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        if body.done:
            break
        used = body.feed(data[start:end])
        taken += used
        assert used == end - start or body.done
    return taken


_CUTS = st.lists(st.integers(min_value=0), max_size=10)


@given(st.binary(max_size=50), st.binary(max_size=20), _CUTS)
def test_a_body_with_a_length_ends_after_so_many_bytes(content: bytes, after: bytes, cuts: list[int]) -> None:
    body = Body(len(content))
    assert _feed(body, content + after, cuts) == len(content)
    assert body.done


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.binary(max_size=20), st.booleans(), _CUTS)
def test_chunks_end_after_their_trailers(chunks: list[bytes], after: bytes, trailers: bool, cuts: list[int]) -> None:
    data = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n"
    data += b"X-Sum: 1\r\nY: 2\r\n\r\n" if trailers else b"\r\n"
    body = Body(CHUNKED)
    assert _feed(body, data + after, cuts) == len(data)
    assert body.done


def test_a_body_until_the_end_never_ends_by_itself() -> None:
    body = Body(UNTIL_CLOSE)
    assert body.feed(b"x" * 1000) == 1000
    assert not body.done


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"xyz\r\n", id="no-number"),
        pytest.param(b"-1\r\n", id="negative"),
        pytest.param(b"5\n12345\r\n", id="bare-newline"),
        pytest.param(b"2\r\nabc\r\n", id="longer-than-said"),
        pytest.param(b"1" * 17 + b"\r\n", id="too-large"),
        pytest.param(b"1;" + b"x" * 10000, id="endless-line"),
        pytest.param(b"0\r\nno trailer\r\n", id="bad-trailer"),
        pytest.param(b"0\r\n" + b"X: y\r\n" * 20000, id="endless-trailers"),
    ],
)
def test_bad_chunks(data: bytes) -> None:
    with pytest.raises(BadBodyError):
        Body(CHUNKED).feed(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_taken_or_refused(data: bytes) -> None:
    body = Body(CHUNKED)
    try:
        taken = body.feed(data)
    except BadBodyError:
        return
    assert taken == len(data) or body.done
