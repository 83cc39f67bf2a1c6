"""Where requests to the proxy may go."""

from __future__ import annotations

import pytest

from rayward.local.node.egress.target import Target, Way, of_connect, of_url, variables, way_to


@pytest.mark.parametrize(
    ("address", "way"),
    [
        ("10.42.3.4", Way.INSIDE),
        ("10.43.0.1", Way.INSIDE),
        ("::ffff:10.42.3.4", Way.INSIDE),
        ("192.0.2.1", Way.OUTSIDE),
        ("2001:db8::1", Way.OUTSIDE),
        ("127.0.0.1", Way.FORBIDDEN),
        ("127.43.0.1", Way.FORBIDDEN),
        ("::1", Way.FORBIDDEN),
        ("::ffff:127.0.0.1", Way.FORBIDDEN),
        ("::127.0.0.1", Way.FORBIDDEN),
        ("64:ff9b::7f00:1", Way.FORBIDDEN),
        ("2002:7f00:1::", Way.FORBIDDEN),
        ("0.0.0.0", Way.FORBIDDEN),
        ("0.1.2.3", Way.FORBIDDEN),
        ("255.255.255.255", Way.FORBIDDEN),
        ("::", Way.FORBIDDEN),
        ("::ffff:0.0.0.0", Way.FORBIDDEN),
        ("169.254.169.254", Way.FORBIDDEN),
        ("::ffff:169.254.169.254", Way.FORBIDDEN),
        ("fe80::1", Way.FORBIDDEN),
        ("fe80::1%2", Way.FORBIDDEN),
        ("fd00:ec2::254", Way.FORBIDDEN),
        ("168.63.129.16", Way.FORBIDDEN),
        ("224.0.0.1", Way.FORBIDDEN),
    ],
)
def test_ways_out(address: str, way: Way) -> None:
    assert way_to(address) is way


def test_what_the_proxy_is_asked_for() -> None:
    assert of_connect("example.com:443") == Target("example.com", 443)
    assert of_connect("[2001:db8::1]:443") == Target("2001:db8::1", 443)
    assert [of_connect(text) for text in ("example.com", ":1", "h:0", "h:99999", "h:x")] == [None] * 5
    assert of_url("http://h:81/a?b=c") == (Target("h", 81), "/a?b=c")
    assert [of_url(text) for text in ("/a", "https://h/", "http://[/", "http://h:x/")] == [None] * 4
    assert "10.43.0.0/16" in variables("10.42.0.1", 3128)["no_proxy"]
