"""Breaking a service's pods, and seeing that they came back."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from rayward.kube.core.resource import PODS
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE
from tests.ray.underload import asked
from tests.waiting import eventually

Object = dict[str, Any]


def lose_head(service: HelloService) -> None:
    """Take the head away without a word, and wait for the next one."""
    cluster = service.active
    head = service.stack.head(cluster)
    before = _incarnation(head)
    service.stack.client.delete(PODS, head["metadata"]["name"], "default", grace_period_seconds=0)
    eventually(lambda: _ready_again(service, cluster, "head", before), PATIENCE)


def kill_head(service: HelloService) -> None:
    """Kill every process of the head, whose pod stays, and wait until it runs again."""
    _kill(service, service.stack.head(service.active))


def kill_worker(service: HelloService) -> None:
    """Kill every process of the worker, and wait until it runs again."""
    (worker,) = workers(service)
    _kill(service, worker)


def _kill(service: HelloService, pod: Object) -> None:
    cluster, before = service.active, _incarnation(pod)
    for pid in processes_of(pod["metadata"]["name"]):
        # Some end with the one that was killed before them.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: _ready_again(service, cluster, _kind(pod), before), PATIENCE)


def survives_its_head(service: HelloService) -> None:
    """The head is lost: every request is answered all the while, and the next head goes on with the same workers."""
    active, before = service.active, _ray_workers(service)
    with asked(service):
        lose_head(service)
        service.serves(f"{service.release} plain")
    assert service.clusters() == {active}
    assert _ray_workers(service) == before, "the workers never left"


def workers(service: HelloService) -> list[Object]:
    """The workers of the cluster that serves."""
    return [pod for pod in service.stack.pods(service.active) if _kind(pod) == "worker"]


def processes_of(pod: str) -> list[int]:
    """Processes that were started for a pod, told by their environment."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"HOSTNAME={pod}\0".encode() in environment:
                found.append(int(entry.name))
    assert found
    return found


def _ray_workers(service: HelloService) -> set[tuple[str, tuple[str, int]]]:
    """The workers as Ray knows them and as Kubernetes does."""
    nodes = {host: node for node, host, _ in service.stack.everywhere(service.active)}
    return {(nodes[pod["metadata"]["name"]], _incarnation(pod)) for pod in workers(service)}


def _kind(pod: Object) -> str:
    return pod["metadata"]["labels"]["ray.io/node-type"]


def _incarnation(pod: Object) -> tuple[str, int]:
    return pod["metadata"]["uid"], sum(one["restartCount"] for one in pod["status"]["containerStatuses"])


def _ready_again(service: HelloService, cluster: str, kind: str, before: tuple[str, int]) -> bool:
    (pod,) = (pod for pod in service.stack.pods(cluster) if _kind(pod) == kind)
    ready = all(one["ready"] for one in pod["status"]["containerStatuses"])
    return ready and _incarnation(pod) != before
