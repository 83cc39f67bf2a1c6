"""Signed tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.net.signing import SigningKey

_KEY = SigningKey(SigningKey.make())
_TOKEN = _KEY.sign({"sub": "me", "exp": 5})


def test_a_key_knows_its_own_tokens() -> None:
    assert _KEY.verify(_TOKEN) == {"sub": "me", "exp": 5}


def test_a_token_of_another_key_is_nothing() -> None:
    assert SigningKey(SigningKey.make()).verify(_TOKEN) is None


@given(st.integers(0, len(_TOKEN) - 1), st.sampled_from("AZaz09-_.!"))
def test_a_changed_token_is_nothing(position: int, letter: str) -> None:
    changed = _TOKEN[:position] + letter + _TOKEN[position + 1 :]
    # the last letter of a base64 part may hold bits that mean nothing
    assert changed == _TOKEN or _KEY.verify(changed) in (
        None,
        {"sub": "me", "exp": 5} if position == len(_TOKEN) - 1 else None,
    )


@pytest.mark.parametrize("text", ["", ".", "..", "a.b.c", "ü", "a" * 1000])
def test_rubbish_is_nothing(text: str) -> None:
    assert _KEY.verify(text) is None
