"""The first ten minutes of the documentation with simulated Ray: every command of the page but a program's."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rayward.kinds.resources import LOCAL_QUEUES
from rayward.kube.client.access import Access
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NODES
from tests.docs import start
from tests.operator.kubelet import NODE
from tests.operator.service.heads import BEHAVIOURS
from tests.quota.gate.stage import GateStage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def queued(access: Access) -> AsyncGenerator[GateStage]:
    """A namespace whose queue has 8 CPUs, as the page has them."""
    async with GateStage.on(access) as stage:
        await stage.queue(8)
        body: dict[str, Any] = {"apiVersion": LOCAL_QUEUES.api_version, "kind": "LocalQueue"}
        body |= {"metadata": {"name": "default"}, "spec": {"clusterQueue": stage.namespace}}
        await stage.client.create(LOCAL_QUEUES, body, stage.namespace)
        stage.heads.behaviours |= {"app:app": BEHAVIOURS["app:one"], "nope:app": BEHAVIOURS["app:broken"]}
        # an operator's tests need no room on the node, a plan does
        await _room(stage, {"cpu": "1000", "memory": "1000Gi", "pods": "1000"})
        yield stage
        await _room(stage, None)


async def _room(stage: GateStage, amounts: dict[str, str] | None) -> None:
    status = {"status": {"allocatable": amounts}}
    await stage.client.patch(NODES, NODE, status, PatchType.MERGE, subresource="status")
    # nobody here takes the taint away that every node is born with
    await stage.client.patch(NODES, NODE, {"spec": {"taints": None}}, PatchType.MERGE)


def _kubeconfig(given: Path, namespace: str, folder: Path) -> Path:
    document = yaml.safe_load(given.read_text())
    for context in document["contexts"]:
        context["context"]["namespace"] = namespace
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    return file


@pytest.mark.parametrize("access", ["embedded"], indirect=True)
async def test_the_first_ten_minutes(queued: GateStage, tmp_path: Path, embedded_kubeconfig: Path) -> None:
    commands = [(command, code) for command, code in start.steps() if not command.startswith("rayward run ")]
    assert {0, 3, 7, 9} == {code for _, code in commands}
    environment = {
        **os.environ,
        "KUBECONFIG": str(_kubeconfig(embedded_kubeconfig, queued.namespace, tmp_path)),
        "RAYWARD_DATA_DIR": str(tmp_path / "nothing"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    script = tmp_path / "start.sh"
    script.write_text(start.script(command for command, _ in commands))
    async with queued.operator():
        shell = await asyncio.create_subprocess_exec(
            "bash",
            str(script),
            cwd=tmp_path,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await shell.communicate()
    said = start.read(output.decode(), commands)
    start.check(said)
    blocked = ["large.yaml" in command for command, text in said.items() if " plan " in command and "blocked: " in text]
    assert blocked == [True], "only what can never fit"
