"""Addresses and networks as Go reads them."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.cel.network import parse_address, parse_network
from rayward.kube.machinery.cel.values import EvaluationError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "unable to parse IP"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.x.4", 'unexpected character (at "x.4")'),
        (":::1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2", "address string too short"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
    ],
)
def test_an_address_that_is_none(text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_address(text)
    prefix = f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): '
    assert str(caught.value) == prefix + said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fe80::1%eth0", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("::ffff:1.2.3.4", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ],
)
def test_an_address_of_a_kind_that_is_not_taken(text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_address(text)
    assert str(caught.value) == said


def test_networks_hold_addresses_and_mask_them() -> None:
    network = parse_network("192.168.1.5/24")
    assert str(network) == "192.168.1.5/24"
    assert str(network.masked()) == "192.168.1.0/24"
    assert network.contains(parse_address("192.168.1.200"))
    assert not network.contains(parse_address("192.168.2.1"))
    assert not network.contains(parse_address("::1"))


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "x/8", "10.0.0.0/", "::/129"])
def test_a_network_that_is_none(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_network(text)
