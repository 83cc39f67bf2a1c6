"""Resource quantities: exact amounts with Kubernetes' suffixes, canonical forms and rounding."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any, Final

_MAX_TEXT: Final = 1024
_MAX_INT64: Final = 2**63 - 1
_NANO: Final = -9
# Far beyond anything countable; past it a smaller operand no longer changes a sum and whole numbers saturate.
_MAX_SCALE_GAP: Final = 1000

FORMAT_ERROR: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC_ERROR: Final = "unable to parse numeric part of quantity"
SUFFIX_ERROR: Final = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """The text is no quantity; the message is Kubernetes'."""


class Format(Enum):
    """How a quantity was written, and so how its canonical form looks."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_scan: Final = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII).fullmatch
_DIGITS: Final = frozenset("0123456789")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {0: ""} | {power // 10: suffix for suffix, power in _BINARY.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """The exact amount ``unscaled * 10**scale``, with the format it is written in.

    Equality, order and hash follow the amount alone: ``1Gi`` equals ``1073741824``.
    """

    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    _text: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self._text or _canonical(self.unscaled, self.scale, self.format)

    @property
    def is_zero(self) -> bool:
        """Whether the amount is nothing."""
        return self.unscaled == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __hash__(self) -> int:
        return hash(_reduced(self.unscaled, self.scale))

    def __lt__(self, other: Quantity) -> bool:
        return _compare(self, other) < 0

    def __le__(self, other: Quantity) -> bool:
        return _compare(self, other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return _compare(self, other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return _compare(self, other) >= 0

    def __add__(self, other: Quantity) -> Quantity:
        return _sum(self, other, other.unscaled)

    def __sub__(self, other: Quantity) -> Quantity:
        return _sum(self, other, -other.unscaled)

    def __mul__(self, count: int) -> Quantity:
        return Quantity(self.unscaled * count, self.scale, self.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.scale, self.format)

    def as_int(self) -> int:
        """The amount as a whole number, rounded away from zero, at most what 64 bits hold."""
        return self.scaled(0)

    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero, at most what 64 bits hold."""
        return self.scaled(-3)

    def scaled(self, scale: int) -> int:
        """The amount in units of ``10**scale``, rounded away from zero, at most what 64 bits hold."""
        gap = self.scale - scale
        if gap < 0:
            amount = -(-abs(self.unscaled) // 10 ** min(-gap, _MAX_SCALE_GAP))
        else:
            amount = abs(self.unscaled) * 10 ** min(gap, _MAX_SCALE_GAP)
        return min(amount, _MAX_INT64) * (-1 if self.unscaled < 0 else 1)


ZERO: Final = Quantity(0, _text="0")


def parse(value: Any) -> Quantity:
    """Read a quantity from JSON text or a JSON number.

    Raises:
        QuantityError: The value is no quantity.
    """
    if isinstance(value, str):
        return _parse(value.strip()) if len(value) <= _MAX_TEXT else _refuse(NUMERIC_ERROR)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) and value.bit_length() > _MAX_TEXT:
            return _refuse(NUMERIC_ERROR)
        return _parse(repr(value))
    return _refuse(FORMAT_ERROR)


def canonical(value: Any) -> str:
    """The text under which Kubernetes stores and shows a quantity: ``0.5`` is ``500m``, ``1024Mi`` is ``1Gi``."""
    return str(parse(value))


def _refuse(message: str) -> Quantity:
    raise QuantityError(message)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _scan(text)
    if match is None or not text:
        raise QuantityError(FORMAT_ERROR)
    sign, whole, fraction, suffix = match.groups(default="")
    power = _BINARY.get(suffix)
    if power is not None:
        unscaled, scale, form, kept = _from_binary(text, whole, fraction, power)
    elif (power := _DECIMAL.get(suffix)) is not None:
        unscaled, scale, kept = _from_decimal(text, whole, fraction, power)
        form = Format.DECIMAL_SI
    else:
        unscaled, scale, kept = _from_decimal(text, whole, fraction, _exponent(suffix))
        form = Format.DECIMAL_EXPONENT
    if sign == "-":
        unscaled = -unscaled
    return Quantity(unscaled, scale, form, text if kept else _canonical(unscaled, scale, form))


def _exponent(suffix: str) -> int:
    try:
        exponent = int(suffix[1:]) if suffix[0] in "eE" else None
    except ValueError:
        exponent = None
    if exponent is None or not -(2**63) <= exponent < 2**63:
        raise QuantityError(SUFFIX_ERROR)
    # Kubernetes keeps 32 bits of it.
    return (exponent + 2**31) % 2**32 - 2**31


def _from_decimal(text: str, whole: str, fraction: str, power: int) -> tuple[int, int, bool]:
    digits = (whole or "0") + fraction
    unscaled, scale = int(digits), power - len(fraction)
    fits = len(digits) <= 18 and scale >= _NANO
    if not fits and not unscaled:
        _require_digits(text)
    if scale < _NANO:
        # Whoever asks for something gets something: the smallest amount there is, not nothing.
        unscaled, scale = -(-unscaled // 10 ** min(_NANO - scale, len(digits))), _NANO
    # Kubernetes keeps a text that is near enough to its canonical form, such as 1.500 or +5.
    kept = fits and scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return unscaled, scale, kept


def _from_binary(text: str, whole: str, fraction: str, power: int) -> tuple[int, int, Format, bool]:
    digits = whole or "0"
    if not fraction and len(digits) <= 14 - power * 3 // 10:
        number = int(digits)
        return number << power, 0, Format.BINARY_SI, number & 7 != 0
    unscaled, scale = int(digits + fraction) << power, -len(fraction)
    if not unscaled:
        _require_digits(text)
    if scale < _NANO:
        unscaled, scale = -(-unscaled // 10 ** (_NANO - scale)), _NANO
    one = 10**-scale
    if unscaled > _MAX_INT64 * one:
        unscaled, scale, one = _MAX_INT64, 0, 1
    form = Format.DECIMAL_SI if 0 < unscaled < one else Format.BINARY_SI
    return unscaled, scale, form, False


def _require_digits(text: str) -> None:
    # A lone suffix counts as zero to Kubernetes, except with the suffixes whose amounts need big numbers there.
    if text.lstrip("+-.")[:1] not in _DIGITS:
        raise QuantityError(NUMERIC_ERROR)


def _canonical(unscaled: int, scale: int, form: Format) -> str:
    if unscaled == 0:
        return "0"
    unscaled, power = _reduced(unscaled, scale)
    # Small or fractional amounts cannot be written with binary suffixes without loss.
    if form is Format.BINARY_SI and 0 <= power <= _MAX_SCALE_GAP:
        amount = unscaled * 10**power
        if abs(amount) >= 1024:
            times = 0
            while amount % 1024 == 0:
                amount //= 1024
                times += 1
            return f"{amount}{_BINARY_SUFFIX.get(times, '')}"
    unscaled, power = unscaled * 10 ** (power % 3), power - power % 3
    if form is Format.DECIMAL_EXPONENT:
        return f"{unscaled}e{power}" if power else str(unscaled)
    # Past E there is no suffix and Kubernetes drops the exponent; what it stores is then what we must store.
    return f"{unscaled}{_DECIMAL_SUFFIX.get(power, '')}"


def _reduced(unscaled: int, scale: int) -> tuple[int, int]:
    if unscaled == 0:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        scale += 1
    return unscaled, scale


def _compare(one: Quantity, other: Quantity) -> int:
    a, b = one.unscaled, other.unscaled
    gap = one.scale - other.scale
    if gap and a and b:
        if abs(gap) > _MAX_SCALE_GAP and (a > 0) == (b > 0):
            larger = len(str(abs(a))) + one.scale > len(str(abs(b))) + other.scale
            return 1 if larger == (a > 0) else -1
        gap = max(-_MAX_SCALE_GAP, min(gap, _MAX_SCALE_GAP))
        if gap > 0:
            a *= 10**gap
        else:
            b *= 10**-gap
    return (a > b) - (a < b)


def _sum(one: Quantity, other: Quantity, addend: int) -> Quantity:
    form = one.format if one.unscaled else other.format
    if one.scale == other.scale or not addend or not one.unscaled:
        scale = one.scale if one.unscaled else other.scale
        return Quantity(one.unscaled + addend, scale, form)
    gap = one.scale - other.scale
    if abs(gap) > _MAX_SCALE_GAP:
        return Quantity(one.unscaled, one.scale, form) if gap > 0 else Quantity(addend, other.scale, form)
    if gap > 0:
        return Quantity(one.unscaled * 10**gap + addend, other.scale, form)
    return Quantity(one.unscaled + addend * 10**-gap, one.scale, form)
