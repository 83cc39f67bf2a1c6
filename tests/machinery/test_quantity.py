"""Quantities are exact, and are written as Kubernetes writes them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import quantity
from rayward.kube.machinery.quantity import Format, Quantity, QuantityError, parse


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0", "0"),
        ("0.5", "500m"),
        ("1.25", "1250m"),
        (".5", "500m"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1500M", "1500M"),
        ("2000000k", "2G"),
        ("-0.001", "-1m"),
        ("0.0001", "100u"),
        ("1024Mi", "1Gi"),
        ("1025Mi", "1025Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("0.5Mi", "512Ki"),
        ("0.0009765625Ki", "1"),
        ("0.1Ki", "102400m"),
        ("1.1Ki", "1126400m"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("10e3", "10e3"),
        ("1000e3", "1e6"),
        ("1e4", "10e3"),
        ("100e-3", "100e-3"),
        ("12e+6", "12e+6"),
        ("0Ki", "0"),
        ("0e9", "0"),
    ],
)
def test_the_canonical_form(written: str, canonical: str):
    assert quantity.canonical(written) == canonical


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("1.5e1", "1.5e1"),
        ("100.035k", "100.035k"),
        ("007Mi", "007Mi"),
        ("1.Ki", "1.Ki"),
        ("01", "01"),
    ],
)
def test_a_text_near_enough_to_the_canonical_form_is_kept(written: str, kept: str):
    assert quantity.canonical(written) == kept


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("1e-20", "1e-9"),
        ("0." + "0" * 100 + "1", "1n"),
        ("1e-2147483648", "1e-9"),
    ],
    ids=["nano", "below", "below zero", "digits below", "exponent", "very small", "smallest exponent"],
)
def test_what_is_smaller_than_a_nano_is_rounded_away_from_zero(written: str, canonical: str):
    assert quantity.canonical(written) == canonical


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("8Ei", "9223372036854775807"),
        ("-8Ei", "-9223372036854775807"),
        ("7Ei", "7Ei"),
        ("9223372036854775808", "9223372036854775808"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("999E", "999E"),
        ("1000E", "1"),
        ("1e2147483647", "10e2147483646"),
        ("1e4294967297", "10"),
    ],
    ids=[
        "binary amounts are capped",
        "below zero too",
        "up to the cap",
        "decimal ones are not",
        "at any length",
        "largest suffix",
        "past it Kubernetes drops the exponent",
        "largest exponent",
        "exponents have 32 bits",
    ],
)
def test_large_amounts(written: str, canonical: str):
    assert quantity.canonical(written) == canonical


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ("", quantity.FORMAT_ERROR),
        ("1 Gi", quantity.FORMAT_ERROR),
        ("a", quantity.FORMAT_ERROR),
        ("1.2.3", quantity.FORMAT_ERROR),
        ("--1", quantity.SUFFIX_ERROR),
        ("1Gi!", quantity.FORMAT_ERROR),
        ("\u0661", quantity.FORMAT_ERROR),
        (True, quantity.FORMAT_ERROR),
        (None, quantity.FORMAT_ERROR),
        ([], quantity.FORMAT_ERROR),
        (float("inf"), quantity.FORMAT_ERROR),
        ("1K", quantity.SUFFIX_ERROR),
        ("1gi", quantity.FORMAT_ERROR),
        ("1e", quantity.SUFFIX_ERROR),
        ("1mi", quantity.SUFFIX_ERROR),
        ("1+5", quantity.SUFFIX_ERROR),
        ("1e99999999999999999999", quantity.SUFFIX_ERROR),
        ("Ei", quantity.NUMERIC_ERROR),
        ("1" * 2000, quantity.NUMERIC_ERROR),
        (10**2000, quantity.NUMERIC_ERROR),
    ],
    ids=str,
)
def test_what_is_no_quantity_is_refused_in_kubernetes_words(bad: Any, text: str):
    with pytest.raises(QuantityError) as refused:
        parse(bad)
    assert str(refused.value) == text


def test_the_complaint_quotes_the_expression():
    assert quantity.FORMAT_ERROR == (
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


@pytest.mark.parametrize(("value", "canonical"), [(2, "2"), (0.5, "500m"), (1e-7, "100e-9"), (" 1Gi ", "1Gi")])
def test_json_numbers_and_padded_text_are_quantities(value: Any, canonical: str):
    assert quantity.canonical(value) == canonical


@pytest.mark.parametrize(
    ("written", "whole", "milli"),
    [
        ("1500m", 2, 1500),
        ("-1500m", -2, -1500),
        ("1u", 1, 1),
        ("1Gi", 1 << 30, (1 << 30) * 1000),
        ("1e100", 2**63 - 1, 2**63 - 1),
        ("-1e2000000000", -(2**63 - 1), -(2**63 - 1)),
        ("0", 0, 0),
    ],
)
def test_whole_numbers_are_rounded_away_from_zero_and_capped(written: str, whole: int, milli: int):
    assert (parse(written).as_int(), parse(written).milli()) == (whole, milli)


@pytest.mark.parametrize(
    ("one", "other", "total", "difference"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "1Mi", "1025Mi", "1023Mi"),
        ("1Gi", "1M", "1074741824", "1072741824"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "0", "1Gi", "1Gi"),
        ("500E", "500E", "1", "0"),
        ("1e2000000000", "1", "100e1999999998", "100e1999999998"),
    ],
)
def test_sums_keep_the_format_of_the_first_that_is_not_zero(one: str, other: str, total: str, difference: str):
    assert (str(parse(one) + parse(other)), str(parse(one) - parse(other))) == (total, difference)


def test_multiples_and_negation():
    assert str(parse("250m") * 6) == "1500m"
    assert str(-parse("1Gi")) == "-1Gi"
    assert (parse("0") * 5).is_zero


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("999m", "1"),
        ("1", "1Ki"),
        ("-1", "0"),
        ("1000Mi", "1Gi"),
        ("9" * 900, "1e901"),
        ("1e1999999999", "1e2000000000"),
        ("-1e2000000000", "1n"),
        ("-1e2000000000", "-1e1999999000"),
        ("5", "1e2000000000"),
    ],
)
def test_order(small: str, large: str):
    one, other = parse(small), parse(large)
    assert one < other
    assert other > one
    assert one <= other
    assert not one >= other
    assert one != other


@pytest.mark.parametrize(("one", "other"), [("1Gi", "1073741824"), ("1", "1000m"), ("1k", "1e3"), ("0", "-0Ki")])
def test_equality_and_hash_follow_the_amount(one: str, other: str):
    assert parse(one) == parse(other)
    assert hash(parse(one)) == hash(parse(other))


def test_a_quantity_is_no_number():
    assert parse("1") != 1


amounts = st.builds(
    lambda unscaled, scale, form: Quantity(unscaled, scale, form),
    st.integers(-(10**25), 10**25),
    st.integers(-9, 12),
    st.sampled_from(list(Format)),
)


def exact(amount: Quantity) -> Fraction:
    return Fraction(amount.unscaled) * Fraction(10) ** amount.scale


def representable(amount: Quantity) -> bool:
    """Whether the canonical text still says the amount: not past E, and not capped."""
    return abs(exact(amount)) < 2**63


@given(amounts)
def test_the_canonical_text_reads_back_as_the_same_amount(amount: Quantity):
    if representable(amount):
        assert parse(str(amount)) == amount
        if amount.format is Format.DECIMAL_SI:
            assert str(parse(str(amount))) == str(amount)


@given(amounts, amounts)
def test_arithmetic_is_exact(one: Quantity, other: Quantity):
    assert exact(one + other) == exact(one) + exact(other)
    assert exact(one - other) == exact(one) - exact(other)
    assert (one < other) is (exact(one) < exact(other))
    assert (one == other) is (exact(one) == exact(other))


@given(amounts, st.integers(-9, 3))
def test_scaling_never_gives_less_than_asked_for(amount: Quantity, scale: int):
    scaled = amount.scaled(scale)
    wanted = abs(exact(amount)) / Fraction(10) ** scale
    assert abs(scaled) == min(-(-wanted.numerator // wanted.denominator), 2**63 - 1)
    assert scaled * exact(amount) >= 0
