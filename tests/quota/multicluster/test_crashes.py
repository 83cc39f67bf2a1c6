"""The manager's process dies before and after each of its writes, on either cluster's behalf; the next one goes on."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import pytest

from rayward.kube.client.request import Request
from tests.operator.lives import MARKS
from tests.operator.mortal import Moment, mortal, reads
from tests.quota.multicluster.stage import MulticlusterStage

pytestmark = MARKS

_OF_THE_DISPATCHER: Final = re.compile(r"/(workloads|rayservices)(/|\?|$)")


def _others(request: Request) -> bool:
    return reads(request) or _OF_THE_DISPATCHER.search(request.target) is None


@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_an_upgrade_reaches_its_end_however_often_the_manager_dies(
    clusters: MulticlusterStage, moment: Moment
) -> None:
    """Every life is one write longer than the one before it."""
    await clusters.quota(2, east=2)
    async with clusters.east.operator(), clusters.west.operator():
        async with clusters.dispatcher():
            await clusters.create()
            await clusters.until_done("1", clusters.east)
        await clusters.upgrade("rayproject/ray:2")
        deaths = 0
        done = False
        while not done:
            client, transport = mortal(clusters.client, deaths + 1, moment, _others)
            async with clusters.dispatcher(client):
                end = asyncio.ensure_future(clusters.until_done("2", clusters.east))
                death = asyncio.ensure_future(transport.died.wait())
                await asyncio.wait((end, death), return_when=asyncio.FIRST_COMPLETED)
                await transport.settled()
            done = end.done() and not end.cancelled() and end.exception() is None
            for task in (end, death):
                task.cancel()
            await asyncio.gather(end, death, return_exceptions=True)
            deaths += not done
        assert deaths >= 3
        assert await clusters.east.used() == 1
