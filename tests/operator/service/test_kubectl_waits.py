"""The real kubectl waits in states of an upgrade: it ends when the edit has the traffic, and not before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from tests.kube.real import build
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.stage import condition

pytestmark = [pytest.mark.anyio, pytest.mark.kube]

_SHORT: Final = "1s"
_LONG: Final = "600s"
Wait = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
def wait(request: pytest.FixtureRequest, ray: ServiceStage, tmp_path: Path) -> Wait:
    """Starts ``kubectl wait`` on the server that the test runs on."""
    kubeconfig: Path = request.getfixturevalue(f"{request.node.callspec.params['access']}_kubeconfig")
    kubectl = [str(build.build() / "kubectl"), "--kubeconfig", str(kubeconfig), "--namespace", ray.namespace]

    async def started(limit: str, kind: str = "Ready") -> asyncio.subprocess.Process:
        command = [*kubectl, "wait", f"rayservice/{NAME}", f"--for=condition={kind}", f"--timeout={limit}"]
        return await asyncio.create_subprocess_exec(
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "HOME": str(tmp_path)},
        )

    return started


async def _ends(process: asyncio.subprocess.Process) -> None:
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert "condition met" in said.decode()


async def _times_out(process: asyncio.subprocess.Process) -> None:
    said, _ = await process.communicate()
    assert process.returncode == 1, said.decode()
    assert "timed out" in said.decode() or "deadline exceeded" in said.decode()


async def _is_done(ray: ServiceStage) -> str:
    """What whoever waited may rely on: the cluster that serves, which is of the generation that was asked for."""
    found = await ray.service()
    generation = found["metadata"]["generation"]
    assert condition(found, "Ready")["observedGeneration"] == generation
    assert condition(found, "Reconciling").get("status") != "True"
    return await ray.serving()


async def test_kubectl_waits_until_an_edit_has_the_traffic(ray: ServiceStage, wait: Wait) -> None:
    await ray.create(service(rayClusterDeletionDelaySeconds=0))
    first = await wait(_LONG)
    async with ray.operator():
        await _ends(first)
        old = await _is_done(ray)

        # An upgrade that is held before the switch: the old release is ready all the while.
        await ray.annotate(pause="true")
        await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:2"))
        edited = await wait(_LONG)
        await ray.until("Progressing", "True", "Paused")
        assert (await ray.conditions("Ready"))[0] == "True"
        await _times_out(await wait(_SHORT))
        assert edited.returncode is None, "it goes on waiting"
        await ray.annotate(pause=None)
        await _ends(edited)
        new = await _is_done(ray)
        assert new != old

        # One that cannot work, and one that is rejected: they never get there, and Stalled tells.
        for broken, reason in ((config("app:broken"), "ServeDeployFailed"), ("applications: [", "ValidationFailed")):
            await ray.edit(serveConfigV2=broken)
            await ray.until("Stalled", "True", reason)
            await _ends(await wait(_LONG, "Stalled"))
            await _times_out(await wait(_SHORT))
            assert await ray.serving() == new

        await ray.edit(serveConfigV2=config("app:two"))
        await _ends(await wait(_LONG))
        assert await _is_done(ray) == new
        assert ray.heads.words(new) == b"two"
