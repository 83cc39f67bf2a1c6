"""One request in ten fails: refused, unanswered, slow; watches break off or have expired. The end is the same."""

from __future__ import annotations

from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.core.resource import PODS, ROLE_BINDINGS, ROLES, SECRETS, SERVICE_ACCOUNTS, SERVICES
from tests.operator.faulty import faulty
from tests.operator.lives import MARKS
from tests.operator.stage import GROUPS, Stage, group, install, manifest, put
from tests.operator.witness import witness

pytestmark = MARKS

_CHANCE: Final = 0.1
_RANDOM: Final = 5
_SEEN: Final = (RAY_CLUSTERS, PODS, SERVICES, SECRETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS)


async def _life(ray: Stage, client: Client) -> list[Any]:
    """Create, grow, shrink, suspend, resume, recreate; what is there in the end."""
    async with ray.operator(client):
        await ray.create(
            manifest(
                groups=[group(replicas=3)],
                enableInTreeAutoscaling=False,
                authOptions={"mode": "token"},
                upgradeStrategy={"type": "Recreate"},
            )
        )
        await ray.until_pods(4)
        await ray.patch(put(f"{GROUPS}/0/replicas", 5))
        await ray.until_pods(6)
        await ray.patch(put(f"{GROUPS}/0/replicas", 2))
        await ray.until_pods(3)
        await ray.patch({"spec": {"suspend": True}})
        await ray.until_state("suspended")
        await ray.patch({"spec": {"suspend": False}})
        await ray.until_pods(3)
        await ray.patch({"spec": {"headGroupSpec": {"rayStartParams": {"num-cpus": "0"}}}})
        await ray.until_pods(3)
        return [
            (resource.kind, found["metadata"]["name"][: -_RANDOM if resource == PODS else None])
            for resource in _SEEN
            for found in await ray.objects(resource)
        ]


@pytest.mark.parametrize("seed", range(2))
async def test_faults_change_nothing_in_the_end(access: Access, seed: int) -> None:
    async with Client.connect(access, max_in_flight=256) as client:
        await install(client)
        async with Stage.among(client, access) as ray:
            expected = await _life(ray, client)
        async with Stage.among(client, access) as ray, witness(client, ray.namespace) as seen:
            bad, transport = faulty(client, _CHANCE, seed)
            assert sorted(await _life(ray, bad)) == sorted(expected)
            seen.swears({"headgroup": 1, "small": 5})
        assert transport.faults
