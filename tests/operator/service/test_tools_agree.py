"""A run is recorded, version by version: kstatus, ``kubectl wait`` and Argo CD conclude what the operator knows.

Each version of the RayService is judged with the Service and its endpoints as they were at that moment: nobody calls a
generation done before its release has the traffic, and nobody calls one done that was given up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tools import fields

from rayward.kinds.rayservice import RayService
from rayward.kube.client.api import Client
from tests.operator.reported import assert_reported
from tests.operator.service.judging import judge
from tests.operator.service.refusing import Refusing
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness

pytestmark = pytest.mark.anyio

_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")


async def test_tools_agree_with_the_operator_in_every_version_of_a_run(ray: ServiceStage) -> None:
    outcomes: dict[int, tuple[str, str]] = {}

    async def generation() -> int:
        return (await ray.service())["metadata"]["generation"]

    async def serves() -> None:
        serving = await ray.until_settled()
        outcomes[await generation()] = ("Current", serving)

    async def fails(reason: str) -> None:
        await ray.until("Stalled", "True", reason)
        outcomes[await generation()] = ("Failed", "")

    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        await serves()
        await ray.edit(rayClusterConfig=_B)
        await serves()
        await ray.edit(serveConfigV2=config("app:two"))
        await serves()
        await ray.edit(serveConfigV2=config("app:raises"))
        await fails("ServeDeployFailed")
        await ray.edit(rayClusterConfig=_C, serveConfigV2=config("app:broken"))
        await fails("ServeDeployFailed")
        await ray.edit(serveConfigV2="applications: [")
        await fails("ValidationFailed")
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:two"))
        await serves()
        await ray.edit(suspend=True)
        await ray.until("Suspended", "True")
        outcomes[await generation()] = ("InProgress", "")
        await ray.edit(suspend=False)
        await serves()
    judge(seen, outcomes)
    services = [found for _, found in seen.changes.values() if isinstance(found, RayService)]
    assert_reported(fields.SERVICE, (msgspec.to_builtins(found.status) for found in services))


async def test_tools_agree_where_an_upgrade_is_held_up_given_up_or_refused(ray: ServiceStage) -> None:
    outcomes: dict[int, tuple[str, str]] = {}
    starts: Callable[[Any], bool] = ray.kubelet.starts
    refusing = Refusing(ray.client.transport, "POST", 403, "Forbidden")

    async def ends(state: str, serving: str = "") -> None:
        outcomes[(await ray.service())["metadata"]["generation"]] = (state, serving)

    async with ray.operator(Client(refusing, namespace=ray.client.namespace)), witness(ray) as seen:
        # Who served before stays for an hour.
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=3600))
        await ends("Current", await ray.until_settled())

        await ray.annotate(pause="true")
        await ray.edit(rayClusterConfig=_B)
        await ray.until("Progressing", "True", "Paused")
        await ray.annotate(pause=None)
        await ends("Current", await ray.until_settled(clusters=2))

        await ray.annotate(pause="true")
        await ray.edit(rayClusterConfig=_C)
        await ray.until("Progressing", "True", "Paused")
        await ray.annotate(abort="true")
        await ray.until("Stalled", "True", "Aborted")
        await ends("Failed")
        await ray.annotate(pause=None)
        await ray.edit(rayClusterConfig=_B)
        await ends("Current", await ray.until_settled(clusters=2))

        ray.kubelet.starts = lambda pod: False
        await ray.annotate(progress_deadline="1s")
        await ray.edit(rayClusterConfig=_C)
        await ray.until("Stalled", "True", "ProgressDeadlineExceeded")
        await ends("Failed")
        await ray.annotate(progress_deadline=None)
        ray.kubelet.starts = starts

        await ray.edit(rayClusterConfig=_C, upgradeStrategy={"type": "None"})
        await ray.until("Stalled", "True", "UpgradeStrategyNone")
        await ends("Failed")

        refusing.times = 1_000_000
        await ray.edit(upgradeStrategy={"type": "NewCluster"})
        await ray.until("Reconciling", "True", "FailedWrite")
        refusing.times = 0
        await ends("Current", await ray.until_settled(clusters=3))
    judge(seen, outcomes)
