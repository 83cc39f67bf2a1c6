"""Pod, as far as controllers read it."""

from __future__ import annotations

import msgspec

from rayward.kube.core.objects import Condition, KubeObject, Slim


class ResourceRequirements(Slim, frozen=True, gc=False):
    """Requests and limits, as quantities in text."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class ContainerPort(Slim, frozen=True, gc=False):
    """One port of a container."""

    container_port: int = 0
    name: str = ""
    protocol: str = "TCP"


class Container(Slim, frozen=True, gc=False):
    """One container of a pod's spec."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None


class PodSpec(Slim, frozen=True, gc=False):
    """The part of a pod's spec that controllers read."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    restart_policy: str = "Always"
    host_network: bool = False
    hostname: str = ""
    subdomain: str = ""
    scheduler_name: str = ""
    priority: int | None = None


class SchedulingGate(Slim, frozen=True, gc=False):
    """Keeps a pod from being scheduled until whoever added it removes it."""

    name: str = ""


class ContainerStateWaiting(Slim, frozen=True, gc=False):
    """Why a container has not started."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Slim, frozen=True, gc=False):
    """Since when a container runs."""

    started_at: str | None = None


class ContainerStateTerminated(Slim, frozen=True, gc=False):
    """How a container ended."""

    exit_code: int = 0
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(Slim, frozen=True, gc=False):
    """One of the three states."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Slim, frozen=True, gc=False):
    """One container as the node sees it."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(Slim, frozen=True, gc=False):
    """A pod as the node sees it."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    host_ip: str = msgspec.field(default="", name="hostIP")
    start_time: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


_NO_SPEC = PodSpec()
_NO_STATUS = PodStatus()


class Pod(KubeObject, frozen=True, gc=False):
    spec: PodSpec = _NO_SPEC
    status: PodStatus = _NO_STATUS

    def condition(self, kind: str) -> Condition | None:
        """The condition of one type."""
        return next((found for found in self.status.conditions or () if found.type == kind), None)

    @property
    def ready(self) -> bool:
        """Whether it may receive traffic."""
        found = self.condition("Ready")
        return found is not None and found.status == "True"
