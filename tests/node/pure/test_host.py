"""Addresses and GPUs, given and taken back."""

from __future__ import annotations

import pytest

from rayward.local.node.work.host import Addresses, Graphics


def test_addresses_are_given_once_and_the_longest_free_first() -> None:
    addresses = Addresses()
    first = [addresses.take("10.42.1.0/24") for _ in range(3)]
    assert first == ["10.42.1.2", "10.42.1.3", "10.42.1.4"]
    addresses.free("10.42.1.3")
    assert addresses.take("10.42.1.0/24") == "10.42.1.5"
    for _ in range(249):
        addresses.take("10.42.1.0/24")
    assert addresses.take("10.42.1.0/24") == "10.42.1.3"
    with pytest.raises(LookupError, match="in use"):
        addresses.take("10.42.1.0/24")


def test_graphics_cards_stay_with_their_container() -> None:
    cards = Graphics()
    asks = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    assert cards.take("n", "p", asks) == (0, 1)
    assert cards.take("n", "p", asks) == (0, 1)
    assert cards.take("n", "q", asks) == (2, 3)
    cards.free("p")
    assert cards.take("n", "r", asks) == (0, 1)
    assert cards.take("n", "r", {"name": "d"}) == ()
