"""Jobs as kube-controller-manager runs them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rayward.kube.runtime.clock import SystemClock
from tests.controllers.jobs_play import JOB_PLAYS
from tests.controllers.plays import Play
from tests.controllers.scenarios import running, space
from tests.controllers.test_on_our_server import kubeconfig

__all__ = ["kubeconfig"]


class _Ahead(SystemClock):
    """By so much that no failed pod is waited for."""

    def utc(self) -> datetime:
        return super().utc() + timedelta(seconds=11)


@pytest.mark.anyio
@pytest.mark.parametrize("play", JOB_PLAYS, ids=[play.name for play in JOB_PLAYS])
async def test_jobs_are_run_as(kubeconfig: Path, play: Play) -> None:
    clock = _Ahead() if play.name == "jobs-trying-again" else SystemClock()
    async with running(kubeconfig, clock) as client, space(client) as namespace:
        await play.check(client, namespace)
