"""What the plays of the controllers have recorded is what kube-controller-manager does."""

from __future__ import annotations

import asyncio

import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from tests.controllers.plays import Play
from tests.controllers.record import PLAYS, real_plane
from tests.controllers.scenarios import space

pytestmark = pytest.mark.kube


async def _check(client: Client, play: Play) -> None:
    async with space(client) as namespace:
        await play.check(client, namespace)


@pytest.mark.anyio
async def test_the_recorded_plays_are_what_a_real_controller_manager_makes_of_them() -> None:
    with real_plane() as plane:
        async with Client.connect(find_access(plane.kubeconfig)) as client:
            await asyncio.gather(*(_check(client, play) for play in PLAYS))
