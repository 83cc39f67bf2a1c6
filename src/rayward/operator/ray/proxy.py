"""Serve's HTTP proxy in one pod."""

from __future__ import annotations

from typing import Final

from rayward.operator.ray.reach import Ask, PodPort, Reach

_HEALTH: Final = Ask("GET", "/-/healthz", seconds=2.0, max_body=64 * 1024)


class ServeProxy:
    """Tells whether a pod may get Serve's traffic. It asks for no token: the proxy is the users' door."""

    def __init__(self, reach: Reach, pod: PodPort) -> None:
        self._reach = reach
        self._pod = pod

    async def healthy(self) -> bool:
        """Whether it takes requests: one that starts has no routes yet, one that is drained says 503.

        Raises:
            RayError: It cannot be asked. A pod without a replica runs no proxy.
        """
        return (await self._reach.ask(self._pod, _HEALTH)).status == 200
