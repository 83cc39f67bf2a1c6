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
from rayward.operator.ray.observation import Observation, ProxyPod, Routes, Target
from rayward.operator.ray.reach import Ask, Reach

_ROUTES: Final = Ask("GET", "/-/routes", seconds=5.0, max_body=1024 * 1024)
_AT_ONCE: Final = 32
_UNAVAILABLE: Final = 503


async def ask_routes(reach: Reach, target: Target, seen: Observation) -> Observation:
    """``seen`` with what each proxy of ``target`` answers; those that led everywhere once are not asked again."""
    known: Mapping[str, Routes] = seen.routes if target.routed <= seen.routed else {}
    unknown = [pod for pod in target.proxies if known.get(pod.incarnation) is not Routes.ALL]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def asked(pod: ProxyPod) -> Routes:
        async with limit:
            return await _ask(reach, pod, target.routed)

    answers = await asyncio.gather(*map(asked, unknown))
    found = {pod.incarnation: Routes.ALL for pod in target.proxies}
    found |= {pod.incarnation: answer for pod, answer in zip(unknown, answers, strict=True)}
    return replace(seen, routes=found, routed=target.routed)


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
