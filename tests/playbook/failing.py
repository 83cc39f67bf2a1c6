"""Pods that really fail on our node: heads of clusters as data, and how to tell that one is in its state."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
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
def node() -> Generator[Machine]:
    """A server whose node has one image and no GPU; Ray's kinds are not installed."""
    options = ("--cpus", "32", "--memory", "64Gi", "--images", "strict", "--image", f"{_IMAGE}={sys.prefix}")
    with Machine(*options) as made:
        yield made


@contextlib.contextmanager
def machine() -> Generator[Path]:
    """The kubeconfig of one with Ray's kinds as ours are."""
    with node() as made:
        install(made.client)
        yield made.kubeconfig


@dataclass(frozen=True)
class Failure:
    """A head that fails.

    Attributes:
        holds: Whether a pod is in the state.
        ready: The reason of condition Ready, where our operator has one for it.
        event: A warning that comes with it.
        script: What the head runs.
        pod: Fields of its pod.
        container: Fields of its container.
    """

    holds: Callable[[Object], bool]
    ready: str = ""
    event: str = ""
    script: str = "sleep infinity"
    pod: Object = field(default_factory=dict[str, Any])
    container: Object = field(default_factory=dict[str, Any])

    def manifest(self) -> Object:
        """A RayCluster with that head alone."""
        body = manifest(groups=[])
        made = template(**self.pod)
        made["metadata"] = _OWN_COMMAND
        made["spec"]["containers"][0] |= {"command": ["sh", "-c"], "args": [self.script], **self.container}
        body["spec"]["headGroupSpec"]["template"] = made
        return body

    async def __call__(self, ray: ServiceStage) -> str:
        """Bring it about under our operator, which has seen it then."""
        # the node is real here
        ray.kubelet.binds = ray.kubelet.starts = ray.kubelet.ends = lambda _pod: False

        async def so() -> bool:
            return self.seen(await ray.objects(PODS), await ray.objects(EVENTS))

        async with ray.operator():
            await Stage.create(ray, self.manifest())
            await ray.eventually(so)
            await ray.until_condition("Ready", status="False", **({"reason": self.ready} if self.ready else {}))
        return "raycluster/plain"

    def seen(self, pods: list[Object], events: list[Object]) -> bool:
        """Whether it has come about."""
        told = not self.event or any(event["reason"] == self.event for event in events)
        return told and any(map(self.holds, pods))


def _containers(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _conditions(pod: Object) -> list[Object]:
    return (pod.get("status") or {}).get("conditions") or []


def _waits(reason: str) -> Callable[[Object], bool]:
    """A container of the pod waits for this reason."""
    return lambda pod: any(one["state"].get("waiting", {}).get("reason") == reason for one in _containers(pod))


def _unschedulable(pod: Object) -> bool:
    return any(one.get("reason") == "Unschedulable" for one in _conditions(pod))


def _killed(pod: Object) -> bool:
    states = [one.get(name) or {} for one in _containers(pod) for name in ("state", "lastState")]
    return any(one.get("terminated", {}).get("reason") == "OOMKilled" for one in states)


def _is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _not_ready(pod: Object) -> bool:
    runs = (pod.get("status") or {}).get("phase") == "Running"
    return runs and any(one["type"] == "Ready" and one["status"] == "False" for one in _conditions(pod))


def _initializing(pod: Object) -> bool:
    told = (pod.get("status") or {}).get("initContainerStatuses") or ()
    return any("running" in one["state"] for one in told)


_MISSING_KEY: Final = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s3", "key": "key"}}}
_MISSING_CODE: Final = {"name": "code", "configMap": {"name": "hello-code-v2"}}
_FETCH: Final = {"name": "fetch-model", "image": _IMAGE, "command": ["sleep", "infinity"]}
# written, memory is real; swap of the machine, if any, does not count
_GROWS: Final = "exec python3 -c \"held = bytearray(b'x') * (400 * 1024 * 1024); import time; time.sleep(600)\""

FAILING: Final[dict[str, Failure]] = {
    "Unschedulable": Failure(
        _unschedulable, "Unschedulable", container={"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    ),
    "ImagePull": Failure(_waits("ImagePullBackOff"), container={"image": "rayproject/ray:nope"}),
    "ContainerConfig": Failure(_waits("CreateContainerConfigError"), container={"env": [_MISSING_KEY]}),
    "MountFailed": Failure(_is_bound, event="FailedMount", pod={"volumes": [_MISSING_CODE]}),
    "OutOfMemory": Failure(_killed, script=_GROWS, container={"resources": {"limits": {"memory": "64Mi"}}}),
    "Crashing": Failure(_waits("CrashLoopBackOff"), script="echo no such bucket; exit 3"),
    "NotReady": Failure(
        _not_ready,
        event="Unhealthy",
        container={"readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}},
    ),
    "Initializing": Failure(_initializing, pod={"initContainers": [_FETCH]}),
}
