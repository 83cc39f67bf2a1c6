"""No test is forgotten: each lies where a target of the Makefile runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark.expression import Expression

from tests.conftest import COLLECTED

_ROOT: Final = Path(__file__).parents[1]
_RUN: Final = re.compile(
    r"^\t@\$\(PYTEST\)(?P<options>.*) -m (?:\"(?P<quoted>[^\"]+)\"|(?P<word>\w+)) (?P<folder>\S+)$", re.M
)


def _targets() -> list[tuple[Expression, Path]]:
    """What each target runs: the marks, and below which folder."""
    found = _RUN.finditer((_ROOT / "Makefile").read_text())
    return [(Expression.compile(each["quoted"] or each["word"]), _ROOT / each["folder"]) for each in found]


def _runs(target: tuple[Expression, Path], path: Path, marks: frozenset[str]) -> bool:
    expression, folder = target
    return path.is_relative_to(folder) and expression.evaluate(lambda name, **_: name in marks)


@pytest.mark.parametrize(
    ("path", "marks", "runs"),
    [
        ("tests/net/test_http.py", (), True),
        ("tests/kube/test_real.py", ("kube",), True),
        ("tests/ray/test_upgrades.py", ("ray",), True),
        ("tests/operator/test_process.py", ("ray", "kube"), True),
        ("tests/operator/test_process.py", ("ray", "soak"), True),
        ("tests/operator/test_process.py", ("ray",), False),
    ],
)
def test_a_mark_in_the_wrong_place_is_run_by_nobody(path: str, marks: tuple[str, ...], runs: bool) -> None:
    assert any(_runs(target, _ROOT / path, frozenset(marks)) for target in _targets()) is runs


def test_some_target_runs_each_test(request: pytest.FixtureRequest) -> None:
    """Of those that this run found: ``make test`` finds all, and leaves some out by their marks."""
    targets = _targets()
    assert len(targets) == 4
    found = request.config.stash[COLLECTED]
    assert found
    forgotten = {
        str(path.relative_to(_ROOT)) for path, marks in found if not any(_runs(t, path, marks) for t in targets)
    }
    assert not forgotten
