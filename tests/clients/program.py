"""A program that plays the playbook, on a namespace with our operator and simulated Ray; it prints a line a step."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from tests.clients import fabric8
from tests.clients.steps import ENDLESS
from tests.kube.real.build import build_helm
from tests.operator.job.stage import JobHeads, JobStage
from tests.operator.ray.jobs import Script
from tests.operator.ray.simulated import SimulatedHead

_PATIENCE: Final = 900
SAMPLES: Final = Path(__file__).parents[2] / "samples"


@dataclass(frozen=True)
class Program:
    """How it is started; ``command`` may build it first, and skips the test where that is impossible."""

    name: str
    command: Callable[[], list[str]]


PROGRAMS: Final = (
    Program("fabric8", lambda: fabric8.command(SAMPLES)),
    Program("official", lambda: [sys.executable, "-m", "tests.clients.official", str(SAMPLES)]),
    Program("kr8s", lambda: [sys.executable, "-m", "tests.clients.with_kr8s", str(SAMPLES)]),
    Program("helm", lambda: [sys.executable, "-m", "tests.clients.with_helm", str(build_helm())]),
)


class _Heads(JobHeads):
    def find(self, place: Any) -> SimulatedHead:
        head = super().find(place)
        head.scripts[ENDLESS] = Script(pending_seconds=0.05, run_seconds=None, stop_seconds=0.1)
        return head


class _Stage(JobStage):
    def __init__(self, client: Client, access: Access, namespace: str) -> None:
        super().__init__(client, access, namespace)
        self.heads = self.reach = _Heads()


async def outcome(command: list[str], kubeconfig: Path, folder: Path) -> str:
    """What the program printed; its failure is ours."""
    async with _Stage.on(find_access(kubeconfig)) as stage, stage.operator():
        given = folder / "kubeconfig"
        given.touch(mode=0o600)
        given.write_text(_in_namespace(kubeconfig, stage.namespace))
        environment = {**os.environ, "KUBECONFIG": str(given), "HOME": str(folder)}
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            told, failed = await asyncio.wait_for(process.communicate(), _PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"{told.decode()}\n{failed.decode()}"
        return told.decode().replace(stage.namespace, "<namespace>")


def _in_namespace(kubeconfig: Path, namespace: str) -> str:
    config = yaml.safe_load(kubeconfig.read_text())
    for context in config["contexts"]:
        context["context"]["namespace"] = namespace
    return yaml.safe_dump(config)
