"""The five public documents' own examples, and what lint says to each of their mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from rayward.changes.lint import fixed, lint_text

FOLDER: Final = Path(__file__).parent / "documents"

EXPECTED: Final = {
    "1-merge-patch.json": ["1:1 RW102", "1:10 RW401"],
    "1-apply.yaml": ["4:1 RW201", "5:22 RW409"],
    "1-job.yaml": ["5:3 RW407", "9:5 RW304", "10:5 RW304"],
    "2-service.json": ["19:17 RW405", "26:5 RW301", "28:3 RW403"],
    "3-service.yaml": ["25:3 RW303", "26:5 RW302", "28:7 RW302"],
    "4-cluster.json": ["18:15 RW405", "34:17 RW405"],
    "4-fields.yaml": ["7:3 RW406", "13:5 RW402", "19:1 RW403"],
    "5-service.yaml": ["15:13 RW405", "21:7 RW302"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example(name: str) -> None:
    found = lint_text((FOLDER / name).read_text(), name)
    assert [f"{one.line}:{one.column} {one.code}" for one in found] == EXPECTED[name]


def test_every_example_is_expected() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(EXPECTED)


def test_fixes_touch_nothing_else() -> None:
    text = (FOLDER / "4-fields.yaml").read_text()
    after, count = fixed(text, lint_text(text))
    assert count == 2
    kept = text.replace("rayResources: # what Ray is told", "resources: # what Ray is told")
    assert after.rstrip("\n") == kept.partition("status:")[0].rstrip("\n")
    assert [one.code for one in lint_text(after)] == ["RW406"]
