"""Amounts of resources as whole numbers: thousandths of a CPU, units of everything else.

A quota past what 64 bits hold is unlimited, as in Kueue; an infinite float says so, and compares with integers
exactly. Usage and requests are always integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from rayward.kube.machinery.quantity import Format, Quantity, parse

UNLIMITED: Final = math.inf
Amount = int | float
FlavorResource = tuple[str, str]
Usage = dict[FlavorResource, int]

_MAX: Final = 2**63 - 1
_BINARY: Final = ("memory", "ephemeral-storage")


def request_of(resource: str, quantity: Any) -> int:
    """What is asked for.

    Raises:
        QuantityError: It is no quantity.
    """
    read = parse(quantity)
    return read.milli() if resource == "cpu" else read.as_int()


def quota_of(resource: str, quantity: Any) -> Amount:
    """What there is.

    Raises:
        QuantityError: It is no quantity.
    """
    value = request_of(resource, quantity)
    return UNLIMITED if value >= _MAX else value


def plus(one: Amount, other: Amount) -> Amount:
    """The sum, unlimited past 64 bits."""
    total = one + other
    return UNLIMITED if total >= _MAX else total


def minus(one: Amount, other: Amount) -> Amount:
    """The difference; nothing is left when unlimited is taken from unlimited."""
    return 0 if one == other else one - other


def text_of(resource: str, amount: Amount) -> str:
    """The amount as a quantity."""
    if amount == UNLIMITED:
        return "<unlimited>"
    value = int(amount)
    if resource == "cpu":
        return str(Quantity(value, -3))
    form = Format.BINARY_SI if resource in _BINARY or resource.startswith("hugepages-") else Format.DECIMAL_SI
    return str(Quantity(value, 0, form))


def texts_of(amounts: Mapping[str, int]) -> dict[str, str]:
    """Amounts by resource, as quantities."""
    return {resource: text_of(resource, amount) for resource, amount in amounts.items()}
