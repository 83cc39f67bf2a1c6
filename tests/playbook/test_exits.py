"""Pods that really fail on our node, as the timeline tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from rayward.changes.timeline import Entry, Store
from rayward.changes.timeline.recorder import Watched, registration
from rayward.kinds import labels
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.local.node.capabilities import missing_in_child
from rayward.operator.cluster.observe import ALL_SERVICES, CLUSTERS, RAY_PODS
from rayward.stack.kinds import install
from tests.node.machine import Machine, Object, sh
from tests.operator.stage import running
from tests.waiting import eventually

pytestmark = pytest.mark.anyio

_PATIENCE: Final = 120
_RAY: Final = {"labels": {labels.NODE_TYPE: labels.WORKER, labels.CLUSTER: "train"}}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    refused = missing_in_child()
    if refused:
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    with Machine("--cpus", "8", "--memory", "16Gi") as made:
        install(made.client)
        yield made


def _go_on(machine: Machine, name: str) -> bool:
    """Let the run that waits for it end; an error means that it does not run yet."""
    return machine.execute(name, "touch", "/runs/go")[0] == 0


async def _recorded(machine: Machine, container: Object, exits: int, **spec: Any) -> list[Entry]:
    """What the recorder has of a pod when it has told of so many exits."""
    store = Store()

    def told(name: str) -> list[Entry]:
        return [one for one in store.read() if one.name == name]

    async with Client.connect(find_access(machine.kubeconfig)) as client:
        entry = registration(store, Watched((CLUSTERS,), RAY_PODS, ALL_SERVICES))
        recorder, metrics = EventRecorder(client, "tests"), Metrics(CollectorRegistry())
        manager = Manager(client, [entry], "default", recorder=recorder, metrics=metrics, workers=1)
        async with running(manager.run):
            for reflector in manager.reflectors:
                await reflector.wait_synced()
            name = machine.run(container, metadata=_RAY, **spec)
            for number in range(1, exits + 1):
                async with asyncio.timeout(_PATIENCE):
                    while sum("ended with" in one.text for one in told(name)) < number:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                if number < exits:
                    # the next run waits for it, however busy the machine is
                    await asyncio.to_thread(eventually, partial(_go_on, machine, name))
    machine.delete(name)
    return told(name)


async def test_a_container_that_fails_leaves_its_last_lines(machine: Machine) -> None:
    """Its pod restarts nothing: it fails, and is still told why."""
    script = "for n in $(seq 50); do echo line $n; done; echo no such bucket >&2; exit 3"
    found = await _recorded(machine, sh(script), 1)
    (ended,) = (one for one in found if "ended with" in one.text)
    assert ended.text == "container c ended with exit code 3 (Error)"
    lines = ended.detail.splitlines()
    assert (len(lines), lines[-1]) == (20, "no such bucket")
    assert ended.owner == "RayCluster/train"


async def test_each_of_its_ends_is_told_with_its_own_lines(machine: Machine) -> None:
    """A container that is started again: the log of the one before is asked for, by whichever way it is to be had."""
    script = (
        "echo run >> /runs/count; n=$(wc -l < /runs/count); "
        "[ $n = 1 ] || until [ -e /runs/go ]; do sleep 0.1; done; "
        "[ $n -gt 2 ] && sleep infinity; "
        "echo this is run $n; exit 1"
    )
    mounted = sh(script, volumeMounts=[{"name": "runs", "mountPath": "/runs"}])
    volumes = [{"name": "runs", "emptyDir": {}}]
    found = await _recorded(machine, mounted, 2, restartPolicy="Always", volumes=volumes)
    ends = [one.detail for one in found if "ended with" in one.text]
    assert ends[:2] == ["this is run 1", "this is run 2"]


async def test_what_a_container_leaves_as_its_message_is_told_first(machine: Machine) -> None:
    found = await _recorded(machine, sh("echo log; echo the reason > /dev/termination-log; exit 1"), 1)
    (ended,) = (one for one in found if "ended with" in one.text)
    assert ended.detail == "the reason\nlog"
