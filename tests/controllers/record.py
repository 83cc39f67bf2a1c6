"""``python -m tests.controllers.record``: records the plays from a real kube-controller-manager."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from tests.controllers.endpoints_play import ENDPOINTS_PLAY
from tests.controllers.jobs_play import JOB_PLAYS
from tests.controllers.plays import Play
from tests.controllers.scenarios import space
from tests.controllers.workloads_play import WORKLOAD_PLAYS
from tests.kube.real.cluster import RealControlPlane

PLAYS: Final = (ENDPOINTS_PLAY, *JOB_PLAYS, *WORKLOAD_PLAYS)
# Not those that would act on nodes whose kubelet says nothing.
_CONTROLLERS: Final = (
    "deployment-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)


def real_plane() -> AbstractContextManager[RealControlPlane]:
    """A real server with the controllers that the plays are about."""
    only = [f"--controllers={','.join(_CONTROLLERS)}"]
    return RealControlPlane(controller_manager=True, controller_manager_args=only)


async def _record(plays: Sequence[Play]) -> None:
    with real_plane() as plane:
        async with Client.connect(find_access(plane.kubeconfig)) as client:
            await asyncio.gather(*(_record_one(client, play) for play in plays))


async def _record_one(client: Client, play: Play) -> None:
    async with space(client) as namespace:
        await play.record(client, namespace)


if __name__ == "__main__":
    asyncio.run(_record([play for play in PLAYS if not sys.argv[1:] or play.name in sys.argv[1:]]))
