"""Where requests to the proxy may go."""

from __future__ import annotations

import pytest

from rayward.local.node.egress.target import Target, Way, is_name_of_others, of_connect, of_url, variables, way_to


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
        ("fd00:ec2::23", Way.FORBIDDEN),
        ("fd20:ce::254", Way.FORBIDDEN),
        ("fd00:c1::a9fe:a9fe", Way.FORBIDDEN),
        ("fd00:42::42", Way.FORBIDDEN),
        ("fd00:1234::1", Way.OUTSIDE),
        ("64:ff9b:1::7f00:1", Way.FORBIDDEN),
        ("::ffff:0:127.0.0.1", Way.FORBIDDEN),
        ("2001:0:c000:201:0:0:80ff:fffe", Way.FORBIDDEN),  # Teredo writes 127.0.0.1 with all bits turned
        ("2001:db8::5efe:127.0.0.1", Way.FORBIDDEN),
        ("2001:db8::200:5efe:a9fe:a9fe", Way.FORBIDDEN),
        ("fec0::1", Way.FORBIDDEN),
        ("168.63.129.16", Way.FORBIDDEN),
        ("224.0.0.1", Way.FORBIDDEN),
    ],
)
def test_ways_out(address: str, way: Way) -> None:
    assert way_to(address) is way


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:22 HTTP/1.1\n\nx.example",
        "127.0.0.1:22 HTTP/1.1 x.example",
        "a.example\rX: y",
        "user@127.0.0.1",
        "127.0.0.1#.example",
        "127.0.0.1/.example",
        "127.0.0.1\\.example",
        "\xb927.0.0.1",
        "a.example\0",
        "%31%32%37.0.0.1",
        "fe80::1%",
    ],
)
def test_a_host_is_a_name_or_an_address_and_nothing_a_next_proxy_could_read_more_into(host: str) -> None:
    assert of_connect(f"{host}:443") is None
    target = of_url(f"http://{host}/")
    assert target is None or target[0].host == "127.0.0.1"


@pytest.mark.parametrize("host", ["www.example.com", "a.example.", "1.example", "x1.2y"])
def test_names_that_may_be_left_to_a_next_proxy(host: str) -> None:
    assert is_name_of_others(host)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1.", "127.1", "0x7f.1", "127.0.0.0x1", "1.2.3.4.5", "", ".", "fe80::1%eth0"),
        *("box", "box.", "localhost.", "x.localhost", "localhost.localdomain"),
    ],
)
def test_hosts_that_no_other_proxy_may_make_an_address_of(host: str) -> None:
    assert not is_name_of_others(host)


def test_what_the_proxy_is_asked_for() -> None:
    assert of_connect("example.com:443") == Target("example.com", 443)
    assert of_connect("[2001:db8::1]:443") == Target("2001:db8::1", 443)
    assert [of_connect(text) for text in ("example.com", ":1", "h:0", "h:99999", "h:x")] == [None] * 5
    assert of_url("http://h:81/a?b=c") == (Target("h", 81), "/a?b=c")
    assert [of_url(text) for text in ("/a", "https://h/", "http://[/", "http://h:x/")] == [None] * 4
    assert "10.43.0.0/16" in variables("10.42.0.1", 3128)["no_proxy"]
