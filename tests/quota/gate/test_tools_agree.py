"""An upgrade that waits for quota, recorded: kstatus, ``kubectl wait`` and Argo CD conclude what the operator knows."""

from __future__ import annotations

import pytest

from tests.operator.service import verdicts
from tests.operator.service.judging import judge
from tests.operator.service.witness import witness
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, GateStage, queued_service, release

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("engine", ENGINES[:1], indirect=True)
async def test_tools_agree_where_an_upgrade_waits_for_quota_gets_it_or_is_given_up(ray: GateStage) -> None:
    outcomes: dict[int, tuple[str, str]] = {}

    async def ends(state: str, serving: str = "") -> None:
        outcomes[(await ray.service())["metadata"]["generation"]] = (state, serving)

    async def is_waited_for() -> None:
        """Everybody waits, and Argo CD says for what."""

        async def is_told() -> bool:
            found = await ray.service()
            why = condition(found, "Reconciling")
            of_this = why.get("observedGeneration") == found["metadata"]["generation"]
            if not of_this or why["reason"] != "WaitingForQuota":
                return False
            assert (verdicts.kstatus(found), verdicts.waited_for(found)) == ("InProgress", False)
            assert verdicts.argocd(found) == ("Progressing", why["message"])
            return True

        await ray.eventually(is_told)

    await ray.queue(0)
    async with ray.operator(), witness(ray) as seen:
        # The first release waits, too.
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=3600))
        await is_waited_for()
        await ray.queue(1)
        old = await ray.until_settled()
        await ends("Current", old)

        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        await is_waited_for()
        assert (await ray.conditions("Ready"))[0] == "True"
        # Another edit while it waits, and then there is quota.
        await ends("InProgress")
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:3"))
        await is_waited_for()
        await ray.queue(2)
        new = await ray.until_settled(clusters=2)
        assert new != old
        await ends("Current", new)

        # The former cluster has its quota for another hour: this upgrade waits, and is given up.
        await ray.annotate(upgrade_queue_timeout="1s")
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:4"))
        await ray.until("Stalled", "True", "Aborted")
        await ends("Failed")
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:3"))
        assert await ray.until_settled(clusters=2) == new
        await ends("Current", new)
    judge(seen, outcomes)
