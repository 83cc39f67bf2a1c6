"""The embedded server gives every recorded answer."""

from __future__ import annotations

import functools
from collections.abc import Generator
from typing import Any

import pytest

from tests.contract import compare, recording, suite
from tests.contract.case import Case
from tests.contract.play import play
from tests.contract.server import Server
from tests.contract.target import embedded_server

_CASES = list(suite.select())
_recorded = functools.cache(recording.load)


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    with embedded_server() as server:
        suite.prepare(server)
        yield server


@pytest.mark.parametrize(("theme", "case"), _CASES, ids=[f"{theme}/{case.name}" for theme, case in _CASES])
def test_ours_answers_what_the_real_server_answers(theme: str, case: Case, server: Server) -> None:
    expected = recording.expected(case, _recorded(theme), ours=True)

    differing = compare.differences(expected, play(case, server))

    assert not differing, "\n" + compare.report(theme, case, differing, lines=25, every_step=False)


def test_every_case_that_differs_says_why() -> None:
    silent = [case.name for _, case in _CASES if bool(case.differs) != bool(case.ours)]

    assert silent == []


def test_there_are_cases_of_every_kind() -> None:
    applied: dict[str, Any] = {theme: cases for theme, cases in suite.themes().items() if theme.startswith("apply")}

    assert len(_CASES) >= 300
    assert sum(len(cases) for cases in applied.values()) >= 50
