"""Where requests to the proxy may go."""

from __future__ import annotations

import pytest

from rayward.local.node.egress.target import Target, Way, of_connect, of_url, variables


@pytest.mark.parametrize(
    ("host", "way"),
    [
        ("10.42.3.4", Way.INSIDE),
        ("10.43.0.1", Way.INSIDE),
        ("pypi.example", Way.OUTSIDE),
        ("192.0.2.1", Way.OUTSIDE),
        ("localhost", Way.FORBIDDEN),
        ("127.0.0.5", Way.FORBIDDEN),
        ("::1", Way.FORBIDDEN),
        ("0.0.0.0", Way.FORBIDDEN),
        ("169.254.169.254", Way.FORBIDDEN),
    ],
)
def test_ways_out(host: str, way: Way) -> None:
    assert Target(host, 80).way is way


def test_what_the_proxy_is_asked_for() -> None:
    assert of_connect("example.com:443") == Target("example.com", 443)
    assert of_connect("[2001:db8::1]:443") == Target("2001:db8::1", 443)
    assert [of_connect(text) for text in ("example.com", ":1", "h:0", "h:99999", "h:x")] == [None] * 5
    assert of_url("http://h:81/a?b=c") == (Target("h", 81), "/a?b=c")
    assert [of_url(text) for text in ("/a", "https://h/", "http://[/", "http://h:x/")] == [None] * 4
    assert "10.43.0.0/16" in variables("10.42.0.1", 3128)["no_proxy"]
