"""One request in ten fails, on the manager cluster and on worker clusters; changes reach their end all the same."""

from __future__ import annotations

from random import Random

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.quota.multicluster import remote
from tests.operator.faulty import FaultyTransport, faulty
from tests.operator.lives import MARKS
from tests.quota.gate.stage import group, release
from tests.quota.multicluster.stage import MulticlusterStage

pytestmark = MARKS

_CHANCE = 0.1


class _Owned(FaultyTransport):
    """A connection that nobody else uses: whoever opened it closes it."""

    async def close(self) -> None:
        await self._transport.close()


@pytest.fixture
def bad_days(monkeypatch: pytest.MonkeyPatch) -> list[FaultyTransport]:
    """Of the connections that the dispatcher opens to worker clusters."""
    made: list[FaultyTransport] = []

    class Unlucky:
        @staticmethod
        def connect(access: Access, user_agent: str) -> Client:
            good = Client.connect(access, user_agent=user_agent)
            transport = _Owned(good.transport, _CHANCE, Random(len(made)))
            made.append(transport)
            return Client(transport, namespace=good.namespace)

    monkeypatch.setattr(remote, "Client", Unlucky)
    return made


@pytest.mark.timeout(600)
async def test_an_upgrade_and_other_counts_reach_their_end_though_one_request_in_ten_fails(
    clusters: MulticlusterStage, bad_days: list[FaultyTransport]
) -> None:
    await clusters.quota(6, east=6)
    client, here = faulty(clusters.client, _CHANCE, 1)
    async with clusters.running(client), clusters.east.within(6):
        await clusters.create(groups=[group(replicas=1)])
        await clusters.until_done("1", clusters.east)
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=3)]))
        await clusters.until_held(4)
        await clusters.until_done("1", clusters.east)
        await clusters.edit(rayClusterConfig=release(groups=[group(replicas=1)]))
        await clusters.until_held(2)
        await clusters.upgrade("rayproject/ray:2", groups=[group(replicas=1)])
        await clusters.until_done("2", clusters.east)
        assert await clusters.held() == 2
        assert await clusters.east.used() == 2
    assert here.faults > 0
    assert sum(one.faults for one in bad_days) > 0
