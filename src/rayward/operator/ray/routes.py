"""Whether the Serve proxy of a pod leads to the applications of its release.

The controller calls a proxy healthy before it has a route, and tells proxies of routes one by one: only the proxy
itself knows what it would answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from rayward.operator.ray.errors import RayError
from rayward.operator.ray.observation import Observation, Pace, ProxyPod, Routes, Target, Unanswered
from rayward.operator.ray.reach import Ask, Reach

_ROUTES: Final = Ask("GET", "/-/routes", seconds=5.0, max_body=1024 * 1024)
_AT_ONCE: Final = 32
_UNAVAILABLE: Final = 503
_MOST_SKIPPED: Final = 11


async def ask_routes(reach: Reach, target: Target, seen: Observation) -> Observation:
    """``seen`` with what each proxy of ``target`` answers; those that led everywhere once are not asked again.

    One behind a NetworkPolicy never answers: at the pace of a service that only runs on, it is asked ever more rarely.
    """
    known: Mapping[str, Routes] = seen.routes if target.routed <= seen.routed else {}
    patient = target.pace is Pace.IDLE
    skipped = {
        pod.incarnation: replace(found, skip=found.skip - 1)
        for pod in target.proxies
        if patient
        and (found := seen.unanswered.get(pod.incarnation)) is not None
        and found.skip
        and known.get(pod.incarnation) is Routes.SILENT
    }
    unknown = [
        pod for pod in target.proxies if known.get(pod.incarnation) is not Routes.ALL and pod.incarnation not in skipped
    ]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def asked(pod: ProxyPod) -> Routes:
        async with limit:
            return await _ask(reach, pod, target.routed)

    answers = await asyncio.gather(*map(asked, unknown))
    found = {pod.incarnation: Routes.ALL for pod in target.proxies}
    found |= {pod.incarnation: answer for pod, answer in zip(unknown, answers, strict=True)}
    found |= dict.fromkeys(skipped, Routes.SILENT)
    silent = [name for name, answer in found.items() if answer is Routes.SILENT and name not in skipped]
    unanswered = skipped | {name: _again(seen.unanswered.get(name)) for name in silent}
    return replace(seen, routes=found, routed=target.routed, unanswered=unanswered)


def _again(before: Unanswered | None) -> Unanswered:
    times = before.times + 1 if before is not None else 1
    return Unanswered(times, min(2 ** (times - 1) - 1, _MOST_SKIPPED))


async def _ask(reach: Reach, pod: ProxyPod, wanted: frozenset[str]) -> Routes:
    try:
        answer = await reach.ask(pod.place, _ROUTES)
    except RayError:
        return Routes.SILENT
    if answer.status == _UNAVAILABLE:
        # It has no route table yet, or is being drained.
        return Routes.MISSING
    try:
        routes = msgspec.json.decode(answer.body, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Routes.SILENT
    return Routes.ALL if wanted <= set(routes.values()) else Routes.MISSING
