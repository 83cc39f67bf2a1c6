"""kubectl prints the same on the embedded server as on a real one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.contract import recording, suite
from tests.contract.kubectl import targets, transcript
from tests.contract.kubectl.play import play
from tests.contract.kubectl.session import Session
from tests.contract.server import Server

pytestmark = [pytest.mark.kube, pytest.mark.timeout(900)]


def _reports(target: Callable[[], AbstractContextManager[Path]], *, ours: bool) -> list[str]:
    recorded, kubectl = recording.load(transcript.THEME), targets.kubectl()
    with target() as kubeconfig, ThreadPoolExecutor(4) as pool:
        suite.prepare(Server.from_kubeconfig(kubeconfig))

        def check(session: Session) -> str:
            return transcript.problems(session, recorded, play(session, kubectl, kubeconfig), ours=ours)

        return [report for report in pool.map(check, transcript.sessions()) if report]


@pytest.mark.soak
def test_the_recorded_sessions_are_what_kubectl_prints_on_a_real_server() -> None:
    stale = _reports(targets.real, ours=False)

    assert not stale, "\n".join(stale)


def test_kubectl_prints_the_same_on_the_embedded_server() -> None:
    different = _reports(targets.embedded, ours=True)

    assert not different, "\n".join(different)
