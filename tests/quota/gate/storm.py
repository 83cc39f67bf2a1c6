"""Many services of one queue, all upgraded at once, with quota for some of the new releases at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.pod import Pod
from tests.operator.stage import condition
from tests.quota.gate.stage import GateStage, Object, queued_service, release

_LOOK_SECONDS: Final = 0.2
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Storm:
    """What came of it; each release is one pod of one CPU."""

    seconds: float
    peak: int
    """The most pods that there were at any moment."""
    waited: int
    """Services that were seen to wait for quota."""


async def storm(ray: GateStage, services: int, quota: int, patience: float) -> Storm:
    """Upgrade ``services`` services of one CPU each within ``quota`` CPUs; within ``patience`` seconds, or an error."""
    await ray.queue(quota)
    names = [f"svc-{number:03d}" for number in range(services)]
    peak = 0

    def counted(old: Pod | None, new: Pod | None) -> None:
        nonlocal peak
        del old, new
        peak = max(peak, len(ray.kubelet.pods))

    ray.kubelet.pods.subscribe(counted)
    async with ray.operator():
        await _each(names, lambda name: ray.create(_service(name)))
        await _settled(ray, services, patience)
        began = time.monotonic()
        change = [{"op": "replace", "path": "/spec/rayClusterConfig", "value": release(image="rayproject/ray:2")}]
        await _each(names, lambda name: ray.client.patch(RAY_SERVICES, name, change, PatchType.JSON, ray.namespace))
        waited = await _settled(ray, services, patience)
        return Storm(time.monotonic() - began, peak, len(waited))


def _service(name: str) -> Object:
    made = queued_service(rayClusterDeletionDelaySeconds=0)
    made["metadata"]["name"] = name
    return made


async def _each(names: Iterable[str], act: Callable[[str], Awaitable[Any]]) -> None:
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> None:
        async with turn:
            await act(name)

    await asyncio.gather(*(one(name) for name in names))


async def _settled(ray: GateStage, count: int, patience: float) -> set[str]:
    """Wait until every service serves the release of its generation, alone; which of them waited for quota?"""
    waited: set[str] = set()
    found: list[Object] = []
    try:
        async with asyncio.timeout(patience):
            while True:
                found = await ray.objects(RAY_SERVICES)
                waited |= {one["metadata"]["name"] for one in found if _waits(one)}
                pods = len(ray.kubelet.pods)
                if len(found) == pods == count and all(_is_settled(one) for one in found):
                    return waited
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        left = {one["metadata"]["name"]: one.get("status") for one in found if not _is_settled(one)}
        raise AssertionError(f"{len(left)} services did not settle: {left}") from None


def _waits(service: Object) -> bool:
    return condition(service, "QuotaReserved").get("status") == "False"


def _is_settled(service: Object) -> bool:
    generation = service["metadata"]["generation"]
    progressing, ready = condition(service, "Progressing"), condition(service, "Ready")
    done = (progressing.get("reason"), progressing.get("observedGeneration")) == ("NewReleaseAvailable", generation)
    return done and ready.get("status") == "True"
