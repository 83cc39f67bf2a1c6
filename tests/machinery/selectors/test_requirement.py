"""One requirement, checked and matched."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.selectors import SelectorError
from rayward.kube.machinery.selectors.requirement import Operator, Requirement, checked, matcher


def test_values_keep_their_order_but_are_written_sorted():
    requirement = checked("a", Operator.IN, ["c", "b"])
    assert requirement.values == ("c", "b")
    assert str(requirement) == "a in (b,c)"


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        (Operator.IN, []),
        (Operator.NOT_IN, []),
        (Operator.EXISTS, ["a"]),
        (Operator.DOES_NOT_EXIST, ["a"]),
        (Operator.GREATER_THAN, ["1.5"]),
        (Operator.LESS_THAN, ["9223372036854775808"]),
        (Operator.EQUALS, ["a b"]),
    ],
    ids=str,
)
def test_values_must_fit_the_operator(operator: Operator, values: list[str]):
    with pytest.raises(SelectorError):
        checked("a", operator, values)


def test_two_equalities_on_one_label_cannot_both_hold():
    both = [Requirement("a", Operator.EQUALS, ("x",)), Requirement("a", Operator.EQUALS, ("y",))]
    assert not matcher(both)({"a": "x"})
    assert not matcher(both)({"a": "y"})
