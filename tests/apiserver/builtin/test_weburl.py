"""Addresses of webhooks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.apiserver.builtin.weburl import Url, UrlError, parse


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://host/path", Url("https", None, "host", "", "")),
        ("HTTPS://Host:443", Url("https", None, "Host:443", "", "")),
        ("https://u:p@host/?q#f", Url("https", "u:p", "host", "q", "f")),
        ("https://[fd00::1]:443/x", Url("https", None, "[fd00::1]:443", "", "")),
        ("host/path", Url("", None, "", "", "")),
        ("mailto:x", Url("mailto", None, "", "", "")),
        ("//host/x", Url("", None, "host", "", "")),
    ],
)
def test_parts(text: str, url: Url) -> None:
    assert parse(text) == url


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://x\n", 'parse "https://x\\n": net/url: invalid control character in URL'),
        (":x", 'parse ":x": missing protocol scheme'),
        ("1:2", 'parse "1:2": first path segment in URL cannot contain colon'),
        ("100%", 'parse "100%": invalid URL escape "%"'),
        ("https://x/%zz", 'parse "https://x/%zz": invalid URL escape "%zz"'),
        ("https://x%zz/", 'parse "https://x%zz/": invalid URL escape "%zz"'),
        ("https://%41/", 'parse "https://%41/": invalid URL escape "%41"'),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a:b/", 'parse "https://a:b/": invalid port ":b" after host'),
        ("https://[::1", "parse \"https://[::1\": missing ']' in host"),
        ("https://h/#%zz", 'parse "https://h/#%zz": invalid URL escape "%zz"'),
        ("https://u%zz@h", 'parse "https://u%zz@h": invalid URL escape "%zz"'),
    ],
)
def test_what_is_no_address(text: str, why: str) -> None:
    with pytest.raises(UrlError) as refused:
        parse(text)
    assert str(refused.value) == why


@given(st.from_regex(r"[a-z]{1,5}(\.[a-z]{1,5}){0,2}", fullmatch=True), st.integers(1, 65535))
def test_host_and_port(host: str, port: int) -> None:
    assert parse(f"https://{host}:{port}/x").host == f"{host}:{port}"
