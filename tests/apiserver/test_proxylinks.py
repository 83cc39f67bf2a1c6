"""Links of proxied pages: what kube-apiserver 1.36 was seen to answer, and what no page may do to us."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.proxylinks import Way, opened, packed, rewritten

_PREFIX = "/api/v1/namespaces/default/pods/p/proxy"
_WAY = Way(_PREFIX, "10.42.0.2:80", "127.0.0.1:6443")


@pytest.mark.parametrize(
    ("link", "seen"),
    [
        ("/other?x=1", f"{_PREFIX}/other?x=1"),
        ("/dir/", f"{_PREFIX}/dir/"),
        ("/", f"{_PREFIX}/"),
        ("http://10.42.0.2:80/abs/", f"{_PREFIX}/abs/"),
        ("http://127.0.0.1:6443/abs", f"http://127.0.0.1:6443{_PREFIX}/abs"),
        (f"{_PREFIX}/already", f"{_PREFIX}/already"),
        ("sub/x", "sub/x"),
        ("#part", "#part"),
        ("http://example.com/x", "http://example.com/x"),
        ("//example.com/x", "//example.com/x"),
        ("http://[broken", "http://[broken"),
        ("", ""),
    ],
)
def test_where_a_link_leads(link: str, seen: str) -> None:
    assert _WAY.through(link) == seen


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        (b'<a href="/x?y=1&amp;z=2">a</a>', b'<a href="%s/x?y=1&amp;z=2">a</a>' % _PREFIX.encode()),
        (b'<IMG SRC=/i.png ALT="/q">', b'<IMG SRC="%s/i.png" ALT="/q">' % _PREFIX.encode()),
        (b"<form action='/go' method=post>", b'<form action="%s/go" method=post>' % _PREFIX.encode()),
        (b'<a href="rel">', b'<a href="rel">'),
        (b'<p href="/x">', b'<p href="/x">'),
        (b'<!-- <a href="/x"> -->', b'<!-- <a href="/x"> -->'),
        (b"<script>a = '<a href=\"/x\">'</script>", b"<script>a = '<a href=\"/x\">'</script>"),
        (b'<script src="/a.js"></script>', b'<script src="%s/a.js"></script>' % _PREFIX.encode()),
        (b"1 < 2 and <a", b"1 < 2 and <a"),
    ],
    ids=[
        "a link",
        "without quotes, and other attributes",
        "in other quotes",
        "a relative one",
        "no link of this element",
        "a comment",
        "a text in a script",
        "a script's source",
        "no element at all",
    ],
)
def test_links_in_a_page(page: bytes, seen: bytes) -> None:
    assert rewritten(page, _WAY.through) == seen


@given(st.binary(max_size=400))
def test_a_page_without_links_stays_as_it_is(page: bytes) -> None:
    assert rewritten(page, lambda link: link) == page


@pytest.mark.parametrize("piece", [b"<a ", b"<a '", b'<a href="', b"<!--", b"<script>", b"<a<", b"<title "])
def test_a_page_made_to_be_slow_is_not(piece: bytes) -> None:
    page = piece * 20_000
    assert rewritten(page, lambda link: link) == page


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_a_packed_page_is_packed_again(encoding: str) -> None:
    assert opened(packed(b"page", encoding), encoding) == b"page"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"x", "br"), (b"no gzip", "gzip"), (gzip.compress(b"0" * (17 << 20)), "gzip")],
    ids=["unknown", "broken", "a bomb"],
)
def test_what_cannot_be_opened(body: bytes, encoding: str) -> None:
    assert opened(body, encoding) is None
