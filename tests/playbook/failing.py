"""Pods that really fail on our node: each scene brings one about, and waits until the node and the operator say so."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Final

from rayward.kube.core.resource import EVENTS, PODS
from rayward.stack.kinds import install
from tests.node.machine import Machine
from tests.operator.service.stage import ServiceStage
from tests.operator.stage import Object, Stage, manifest, template

_IMAGE: Final = "rayproject/ray:2.52.0"
_OWN_COMMAND: Final = {"annotations": {"ray.io/overwrite-container-cmd": "true"}}


@contextlib.contextmanager
def machine() -> Generator[Path]:
    """The kubeconfig of a server whose node has one image and no GPU."""
    with Machine("--cpus", "32", "--memory", "64Gi", "--images", "strict", "--image", f"{_IMAGE}={sys.prefix}") as made:
        install(made.client)
        yield made.kubeconfig


def _says(pod: Object, reason: str) -> bool:
    """Whether a container of the pod waits for this reason."""
    status = pod.get("status") or {}
    told = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return any(one["state"].get("waiting", {}).get("reason") == reason for one in told)


async def _until(ray: ServiceStage, holds: Callable[[Object], bool], ready: str) -> str:
    """Until a pod is in a state, and the operator has seen it."""

    async def so() -> bool:
        return any(holds(pod) for pod in await ray.objects(PODS))

    await ray.eventually(so)
    await ray.until_condition("Ready", status="False", **({"reason": ready} if ready else {}))
    return "raycluster/plain"


async def _head(
    ray: ServiceStage,
    holds: Callable[[Object], bool],
    ready: str = "",
    *,
    script: str = "sleep infinity",
    pod: Object | None = None,
    **container: Any,
) -> str:
    """A cluster with such a head, when one of its pods is in a state."""
    # the node is real here
    ray.kubelet.binds = ray.kubelet.starts = ray.kubelet.ends = lambda _pod: False
    body = manifest(groups=[])
    made = template(**(pod or {}))
    made["metadata"] = _OWN_COMMAND
    made["spec"]["containers"][0] |= {"command": ["sh", "-c"], "args": [script], **container}
    body["spec"]["headGroupSpec"]["template"] = made
    async with ray.operator():
        await Stage.create(ray, body)
        return await _until(ray, holds, ready)


async def unschedulable(ray: ServiceStage) -> str:
    def told(pod: Object) -> bool:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        return any(one.get("reason") == "Unschedulable" for one in conditions)

    return await _head(ray, told, "Unschedulable", resources={"limits": {"nvidia.com/gpu": "1"}})


async def image(ray: ServiceStage) -> str:
    return await _head(ray, lambda pod: _says(pod, "ImagePullBackOff"), image="rayproject/ray:nope")


async def container_config(ray: ServiceStage) -> str:
    env = [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s3", "key": "key"}}}]
    return await _head(ray, lambda pod: _says(pod, "CreateContainerConfigError"), env=env)


async def unmounted(ray: ServiceStage) -> str:
    volumes = [{"name": "code", "configMap": {"name": "hello-code-v2"}}]
    found = await _head(ray, lambda pod: bool(pod["spec"].get("nodeName")), pod={"volumes": volumes})

    async def told() -> bool:
        return any(event["reason"] == "FailedMount" for event in await ray.objects(EVENTS))

    await ray.eventually(told)
    return found


async def crashing(ray: ServiceStage) -> str:
    return await _head(ray, lambda pod: _says(pod, "CrashLoopBackOff"), script="echo no such bucket; exit 3")


async def not_ready(ray: ServiceStage) -> str:
    def runs(pod: Object) -> bool:
        status = pod.get("status") or {}
        return status.get("phase") == "Running" and any(
            one["type"] == "Ready" and one["status"] == "False" for one in status["conditions"]
        )

    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    found = await _head(ray, runs, readinessProbe=probe)

    async def told() -> bool:
        return any(event["reason"] == "Unhealthy" for event in await ray.objects(EVENTS))

    await ray.eventually(told)
    return found


async def initializing(ray: ServiceStage) -> str:
    def fetches(pod: Object) -> bool:
        told = (pod.get("status") or {}).get("initContainerStatuses") or ()
        return any("running" in one["state"] for one in told)

    fetch = {"name": "fetch-model", "image": _IMAGE, "command": ["sleep", "infinity"]}
    return await _head(ray, fetches, pod={"initContainers": [fetch]})


Scene = Callable[[ServiceStage], Awaitable[str]]
FAILING: Final[dict[str, Scene]] = {
    "Unschedulable": unschedulable,
    "ImagePull": image,
    "ContainerConfig": container_config,
    "MountFailed": unmounted,
    "Crashing": crashing,
    "NotReady": not_ready,
    "Initializing": initializing,
}
