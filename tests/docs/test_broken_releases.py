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
    recorded = {row.name: row for row in broken.load()}
    cases = CASES
    assert recorded.keys() == {case.name for case in cases}
    assert [case.name for case in cases if case.says not in recorded[case.name].message.partition("\n")[0]] == []
    assert [case.name for case in cases if (case.shown or case.says) not in recorded[case.name].get] == []
    assert [case.name for case in cases if recorded[case.name].lost] == []
