"""The recorded answers are what a real kube-apiserver gives today."""

from __future__ import annotations

import pytest

from tests.contract import compare, recording, suite
from tests.contract.case import Case
from tests.contract.play import play
from tests.contract.real import real_server

pytestmark = pytest.mark.kube


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_no_recording_is_stale() -> None:
    recorded = {theme: recording.load(theme) for theme in suite.themes()}

    with real_server() as server:
        suite.prepare(server)

        def check(theme: str, case: Case) -> str:
            try:
                expected = recording.expected(case, recorded[theme], ours=False)
            except recording.StaleError as error:
                return str(error)
            differing = compare.differences(expected, play(case, server))
            if differing:
                # a busy server's watch cache now and then tells what is older than asked for: not twice
                differing = compare.differences(expected, play(case, server))
            return compare.report(theme, case, differing, lines=10, every_step=False) if differing else ""

        stale = [report for report in suite.each(check, list(suite.select()), parallel=6) if report]

    assert not stale, f"{len(stale)} recordings are stale:\n" + "\n".join(stale)
