"""How long a container may take to end."""

from __future__ import annotations

import pytest

from rayward.local.node.pod.grace import left


@pytest.mark.parametrize(
    ("grace", "elapsed", "expected"),
    [
        pytest.param(30.0, 0.0, 30.0, id="the first has it all"),
        pytest.param(30.0, 12.0, 18.0, id="those after it have what is left"),
        pytest.param(30.0, 29.5, 2.0, id="but never less than two seconds"),
        pytest.param(4.0, 400.0, 2.0, id="however late it is"),
        pytest.param(1.0, 10.0, 1.0, id="unless the whole was less"),
        pytest.param(0.0, 0.0, 0.0, id="without grace there is none"),
        pytest.param(30.0, -5.0, 30.0, id="a clock that was set back gives no more"),
    ],
)
def test_what_is_left_of_the_grace(grace: float, elapsed: float, expected: float) -> None:
    assert left(grace, elapsed) == expected
