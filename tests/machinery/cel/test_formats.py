"""Formats that a schema may name."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.cel import formats

_DIGITS = "1" * 5_000


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("a@b", True),
        ("a <a@b>", True),
        ('"x" <a@b>', True),
        ('"x\\"y" z <a@b>', True),
        ('""<a@b>', True),
        ('"x <a@b>', False),
        ('x" <a@b>', False),
        ('"a\n"<a@b>', False),
        ("a,b<a@b>", False),
        ('"' + '\\"' * 1_000_000 + "<a@b>", False),
        ('"' + "\\a" * 1_000_000, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_an_address_of_mail(text: str, valid: bool) -> None:
    assert formats.check("email")(text) is valid


@pytest.mark.parametrize(
    ("name", "text", "valid"),
    [
        ("ipv4", f"{_DIGITS}.1.1.1", False),
        ("ipv4", f"{'0' * 5_000}1.1.1.1", True),
        ("cidr", f"{_DIGITS}.1.1.1/8", False),
        ("cidr", f"1.1.1.1/{_DIGITS}", False),
        ("duration", f"{_DIGITS}h", False),
        ("duration", f"{_DIGITS} days", False),
        ("duration", f"{'0' * 5_000}1h", True),
        ("duration", f"1.{_DIGITS}h", True),
        ("duration", "1" * 1_000_000, False),
        ("duration", "1" * 300_000 + " " * 300_000 + "!", False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_more_digits_than_a_number_holds(name: str, text: str, valid: bool) -> None:
    assert formats.check(name)(text) is valid
