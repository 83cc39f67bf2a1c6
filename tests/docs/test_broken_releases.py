"""The page of broken releases is what was recorded, and tells of every case that is played."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.ray import broken
from tests.ray.breaking import CASES

_PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "broken-releases.md"


def test_the_page_is_what_was_recorded() -> None:
    assert _PAGE.read_text() == broken.page(), "run python -m tests.ray.broken"


def test_every_case_was_recorded_with_its_cause_in_the_first_line() -> None:
    recorded = {row.name: row.message for row in broken.load()}
    assert recorded.keys() == {case.name for case in CASES if case.recorded}
    assert [
        case.name for case in CASES if case.recorded and case.says not in recorded[case.name].partition("\n")[0]
    ] == []
