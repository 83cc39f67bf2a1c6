"""Deployments, ReplicaSets and StatefulSets as kube-controller-manager runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controllers.plays import Play
from tests.controllers.scenarios import running, space
from tests.controllers.test_on_our_server import kubeconfig
from tests.controllers.workloads_play import WORKLOAD_PLAYS

__all__ = ["kubeconfig"]


@pytest.mark.anyio
@pytest.mark.parametrize("play", WORKLOAD_PLAYS, ids=[play.name for play in WORKLOAD_PLAYS])
async def test_workloads_are_run_as(kubeconfig: Path, play: Play) -> None:
    async with running(kubeconfig) as client, space(client) as namespace:
        await play.check(client, namespace)
