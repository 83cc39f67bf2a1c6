"""Addresses and GPUs, given and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.node.work.host import Addresses, Graphics

Object = dict[str, Any]


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


def _asks(cards: int, name: str = "c") -> Object:
    return {"name": name, "resources": {"limits": {"nvidia.com/gpu": str(cards)}}}


def test_graphics_cards_stay_with_their_container() -> None:
    cards = Graphics({"n": 4})
    assert cards.take("n", "p", _asks(2)) == (0, 1)
    assert cards.take("n", "p", _asks(2)) == (0, 1)
    assert cards.take("n", "q", _asks(2)) == (2, 3)
    cards.free("p")
    assert cards.take("n", "r", _asks(2)) == (0, 1)
    assert cards.take("n", "r", {"name": "d"}) == ()


def test_every_node_has_cards_of_its_own() -> None:
    cards = Graphics({"n": 1, "m": 1})
    assert cards.take("n", "p", _asks(1)) == (0,)
    assert cards.take("m", "q", _asks(1)) == (0,)


def test_no_card_is_given_that_the_node_does_not_have() -> None:
    cards = Graphics({"n": 2})
    cards.take("n", "p", _asks(1))
    with pytest.raises(LookupError, match="1 of 2"):
        cards.take("n", "q", _asks(2))
    # What was refused holds nothing.
    assert cards.take("n", "r", _asks(1)) == (1,)


def test_a_container_that_is_done_leaves_its_cards_to_the_next_of_its_pod() -> None:
    cards = Graphics({"n": 2})
    assert cards.take("n", "p", _asks(2, "init")) == (0, 1)
    cards.free("p", "init")
    assert cards.take("n", "p", _asks(1, "main")) == (0,)


def test_cards_that_are_in_use_already_are_not_given_again() -> None:
    cards = Graphics({"n": 3})
    cards.keep("n", "p", "c", (1,))
    assert cards.take("n", "q", _asks(2)) == (0, 2)
    assert cards.take("n", "p", _asks(1)) == (1,)
