"""Looking after one running container: its postStart hook, its probes, its preStop hook."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import Object, section
from rayward.local.node.pod import probing
from rayward.local.node.pod.probing import Settings, Tally
from rayward.local.node.sandboxes import Line
from rayward.local.node.work import asking
from rayward.local.node.work.asking import Refused

_OUTPUT_SHOWN: Final = 1024


class Ward:
    """A running container, and whom to tell about it."""

    def __init__(
        self,
        sandbox_host: Line,
        pod: Line,
        address: str,
        container: Object,
        started: float,
        now: Callable[[], float],
        tell: Callable[[str, str], None],
        leaving: Callable[[], bool],
    ) -> None:
        self._host = sandbox_host
        self._pod = pod
        self._address = address
        self._container = container
        self._started = started
        self._now = now
        self._tell = tell
        self._leaving = leaving

    async def tend(
        self,
        known_startup: bool | None,
        known_ready: bool | None,
        greet: bool,
        change: Callable[[dict[str, Any]], None],
    ) -> None:
        """Greet the container and probe it until cancelled; what is found out goes to ``change``."""
        if greet and not await self._greet():
            change({"condemned": "FailedPostStartHook", "greeted": True})
            return
        change({"greeted": True})
        startup = self._container.get("startupProbe")
        if startup is not None and known_startup is not True:
            async for healthy in self._probe("Startup", startup, None):
                change({"startup": healthy})
                if healthy:
                    break
                change({"condemned": f"Container {self._container['name']} failed startup probe, will be restarted"})
                return
            else:
                # Deleted before it was up: it never will be.
                return
        async with asyncio.TaskGroup() as probes:
            if (readiness := self._container.get("readinessProbe")) is not None:
                probes.create_task(self._follow_readiness(readiness, known_ready, change))
            if (liveness := self._container.get("livenessProbe")) is not None:
                probes.create_task(self._follow_liveness(liveness, change))

    async def say_goodbye(self, seconds: float) -> None:
        """Run the preStop hook, no longer than ``seconds``."""
        hook = section(self._container, "lifecycle").get("preStop")
        if hook is None:
            return
        try:
            await self._run_hook(hook, seconds)
        except Refused:
            self._tell("FailedPreStopHook", "PreStopHook failed")

    async def _greet(self) -> bool:
        hook = section(self._container, "lifecycle").get("postStart")
        if hook is None:
            return True
        try:
            await self._run_hook(hook, None)
        except Refused:
            self._tell("FailedPostStartHook", "PostStartHook failed")
            return False
        return True

    async def _run_hook(self, hook: Object, seconds: float | None) -> None:
        if (command := hook.get("exec")) is not None:
            code, _ = await asking.run_command(self._pod, self._container["name"], command["command"], seconds)
            if code:
                raise Refused(f"the hook ended with {code}")
        elif (get := hook.get("httpGet")) is not None:
            port = asking.port_number(self._container, get["port"])
            await asking.ask_http(self._host, self._address, get, port, seconds or 30)
        elif (nap := hook.get("sleep")) is not None:
            wanted = float(nap.get("seconds") or 0)
            await asyncio.sleep(wanted if seconds is None else min(wanted, seconds))

    async def _follow_readiness(
        self, probe: Object, known: bool | None, change: Callable[[dict[str, Any]], None]
    ) -> None:
        async for healthy in self._probe("Readiness", probe, known):
            change({"ready": healthy})

    async def _follow_liveness(self, probe: Object, change: Callable[[dict[str, Any]], None]) -> None:
        async for healthy in self._probe("Liveness", probe, healthy_before=True):
            if not healthy:
                change({"condemned": f"Container {self._container['name']} failed liveness probe, will be restarted"})
                return

    async def _probe(self, kind: str, probe: Object, healthy_before: bool | None) -> AsyncIterator[bool]:
        settings = Settings.of(probe)
        tally = Tally(healthy_before)
        # By a clock that nobody sets: only the start of the container is known by the other one.
        clock = asyncio.get_running_loop().time
        wait = probing.first_due(self._started, settings) - self._now()
        due = clock() + min(max(wait, 0.0), settings.initial_delay)
        while True:
            await asyncio.sleep(max(due - clock(), 0.0))
            if kind != "Readiness" and self._leaving():
                # Nobody starts it again, but others ask until the end whether it still serves.
                return
            answer = await self._ask(kind, probe, settings.timeout)
            before = tally.healthy
            tally = probing.count(tally, answer, settings)
            if tally.healthy is not before and tally.healthy is not None:
                yield tally.healthy
            due = probing.next_due(due, clock(), settings)

    async def _ask(self, kind: str, probe: Object, seconds: float) -> bool:
        try:
            await self._ask_once(probe, seconds)
        except Refused as refusal:
            self._tell("Unhealthy", f"{kind} probe failed: {str(refusal)[:_OUTPUT_SHOWN]}")
            return False
        return True

    async def _ask_once(self, probe: Object, seconds: float) -> None:
        if (command := probe.get("exec")) is not None:
            code, output = await asking.run_command(self._pod, self._container["name"], command["command"], seconds)
            if code:
                raise Refused(output.decode(errors="replace"))
        elif (get := probe.get("httpGet")) is not None:
            port = asking.port_number(self._container, get["port"])
            await asking.ask_http(self._host, self._address, get, port, seconds)
        elif (tcp := probe.get("tcpSocket")) is not None:
            port = asking.port_number(self._container, tcp["port"])
            await asking.ask_tcp(self._host, tcp.get("host") or self._address, port, seconds)
        else:
            raise Refused("probes of this kind are not supported by this node")
