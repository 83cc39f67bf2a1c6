"""URLs as Go reads them."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.cel import url
from rayward.kube.machinery.cel.values import EvaluationError


def test_the_parts_of_a_url() -> None:
    found = url.parse("https://user:pw@Example.com:8080/a b/c?x=1&y=two+words&x=3#part")
    assert (found.scheme, found.host, found.hostname, found.port) == (
        "https",
        "Example.com:8080",
        "Example.com",
        "8080",
    )
    assert found.escaped_path() == "/a%20b/c"
    assert found.parameters() == {"x": ["1", "3"], "y": ["two words"]}


@pytest.mark.parametrize(
    ("text", "hostname", "port"),
    [("https://[::1]:80/", "::1", "80"), ("https://[::1]/", "::1", ""), ("/path", "", ""), ("http://a", "a", "")],
)
def test_hosts(text: str, hostname: str, port: str) -> None:
    found = url.parse(text)
    assert (found.hostname, found.port) == (hostname, port)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'parse "": empty url'),
        ("a/b", 'parse "a/b": invalid URI for request'),
        ("../x", 'parse "../x": invalid URI for request'),
        ("http://a/%zz", 'parse "http://a/%zz": invalid URL escape "%zz"'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("http://a:b/", 'parse "http://a:b/": invalid port ":b" after host'),
        ("http://[::1/", "parse \"http://[::1/\": missing ']' in host"),
        ("http://a\n/", 'parse "http://a\\n/": net/url: invalid control character in URL'),
        (":foo", 'parse ":foo": missing protocol scheme'),
    ],
)
def test_no_url(text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        url.parse(text)
    assert str(caught.value) == said
