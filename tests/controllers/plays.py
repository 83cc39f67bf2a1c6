"""Plays: what a user and a node do, step by step, and what the controllers have made of it after each step.

Recorded from kube-controller-manager by ``python -m tests.controllers.record``; the same must be seen with ours.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NODES, PODS

Object = dict[str, Any]
Steps = Callable[[Client, str], AsyncIterator[str]]
Observe = Callable[[Client, str], Awaitable[Any]]

_RECORDED: Final = Path(__file__).with_name("recorded")
_PATIENCE: Final = 150.0
_QUIET_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.03


class Play(msgspec.Struct, frozen=True):
    """``steps`` acts and yields the name of each step done; ``observe`` sees the outcome, without names and times."""

    name: str
    steps: Steps
    observe: Observe

    @property
    def file(self) -> Path:
        """Where it is recorded."""
        return _RECORDED / f"{self.name}.json"

    async def check(self, client: Client, namespace: str) -> None:
        """Act, and see after every step what was recorded."""
        recorded: list[Object] = json.loads(self.file.read_text())
        done = 0
        async for step in self.steps(client, namespace):
            assert step == recorded[done]["step"]
            expected = recorded[done]["seen"]
            seen = await self._seen(client, namespace, expected)
            assert seen == expected, f"after the step: {step}\n{_difference(expected, seen)}"
            done += 1
        assert done == len(recorded)

    async def record(self, client: Client, namespace: str) -> None:
        """Act, and write down what is seen once nothing changes any more."""
        recorded = [
            {"step": step, "seen": await self._settled(client, namespace)}
            async for step in self.steps(client, namespace)
        ]
        self.file.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")

    async def _seen(self, client: Client, namespace: str, expected: Any) -> Any:
        deadline = time.monotonic() + _PATIENCE
        while (seen := await self.observe(client, namespace)) != expected and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return seen

    async def _settled(self, client: Client, namespace: str) -> Any:
        seen, since = None, time.monotonic()
        while time.monotonic() - since < _QUIET_SECONDS:
            now = await self.observe(client, namespace)
            if now != seen:
                seen, since = now, time.monotonic()
            await asyncio.sleep(_POLL_SECONDS)
        return seen


def ordered(found: Iterable[Object]) -> list[Object]:
    """Objects in an order that only depends on what is in them."""
    return sorted(found, key=lambda each: json.dumps(each, sort_keys=True))


def _difference(expected: Any, seen: Any) -> str:
    before, after = (json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (expected, seen))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "seen", lineterm=""))


async def make_node(client: Client, name: str, labels: dict[str, str] | None = None) -> None:
    """A node that nothing runs on: the play is its kubelet."""
    await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}})


async def set_status(client: Client, namespace: str, pod: str, status: Object) -> None:
    """What a kubelet says of a pod."""
    await client.patch(PODS, pod, {"status": status}, PatchType.STRATEGIC, namespace, subresource="status")
