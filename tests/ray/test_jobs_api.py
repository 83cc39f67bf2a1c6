"""Real Ray does with jobs what the simulated one does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.net.client import HttpClient
from rayward.operator.ray.jobs import JobDashboard
from rayward.operator.ray.reach import DirectReach, PodPort
from tests.operator.ray.jobcontract import exercise
from tests.ray.head import RealHead

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


def test_real_ray_keeps_the_contract_of_jobs(tmp_path: Path) -> None:
    async def play(url: str) -> None:
        async with HttpClient() as http:
            place = PodPort("default", "head", "127.0.0.1", urlsplit(url).port or 0)
            await exercise(JobDashboard(DirectReach(http), place, token="secret", seconds=60), SYSTEM_CLOCK)

    with RealHead(tmp_path, token="secret") as head:
        asyncio.run(play(head.url))
