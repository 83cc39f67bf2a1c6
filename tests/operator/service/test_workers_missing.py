"""A release some of whose workers do not start: it waits, or is told to be incomplete for as long as it is."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kube.core.pod import Pod
from tests.operator.service.stage import ServiceStage, cluster_config, service
from tests.operator.stage import condition, group

pytestmark = pytest.mark.anyio

_OLD = cluster_config("rayproject/ray:1", groups=[group(replicas=2)])
_NEW = cluster_config("rayproject/ray:2", groups=[group(replicas=2)])
_MISSING = "1 of 2 pods of worker group small are running"


class _LateWorker:
    """Keeps the first worker that a kubelet sees of any cluster but one from starting, until it is let go."""

    def __init__(self, ray: ServiceStage, serving: str) -> None:
        self._ray = ray
        self._serving = serving
        self._late = ""
        self._held = True
        ray.kubelet.starts = self._starts

    def let_go(self) -> None:
        self._held = False
        self._ray.kubelet.look_again()

    def _starts(self, pod: Pod) -> bool:
        mine = pod.metadata.labels or {}
        if mine.get(labels.CLUSTER) == self._serving or mine.get(labels.NODE_TYPE) == labels.HEAD:
            return True
        self._late = self._late or pod.metadata.name
        return not self._held or pod.metadata.name != self._late


async def test_a_release_takes_no_traffic_until_its_last_worker_runs(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_OLD))
        serving = await ray.until_settled()
        late = _LateWorker(ray, serving)
        await ray.edit(rayClusterConfig=_NEW)
        waits = await ray.until("Progressing", "True", "WorkersMissing")
        assert _MISSING in waits["message"]
        # Another reconcile, in which nothing of that has changed.
        await ray.annotate(drain_timeout="2m")
        assert _MISSING in (await ray.until("Progressing", "True", "WorkersMissing"))["message"]
        assert await ray.serving() == serving
        late.let_go()
        assert await ray.until_settled(clusters=2) != serving


async def test_a_release_that_need_not_wait_says_what_is_missing_as_long_as_it_is(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_OLD, metadata={"annotations": {labels.WAIT_FOR_WORKERS: "false"}}))
        serving = await ray.until_settled()
        late = _LateWorker(ray, serving)
        await ray.edit(rayClusterConfig=_NEW)
        assert await ray.until_settled(clusters=2) != serving
        assert _MISSING in (await ray.until("WorkersMissing", "True"))["message"]
        late.let_go()

        async def complete() -> bool:
            return condition(await ray.service(), "WorkersMissing").get("status") != "True"

        await ray.eventually(complete)
