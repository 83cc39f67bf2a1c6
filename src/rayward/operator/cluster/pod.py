"""A Ray node's pod, as far as decisions read it."""

from __future__ import annotations

from rayward.kinds import labels
from rayward.kube.core.objects import KubeObject, Slim
from rayward.kube.core.pod import ContainerStateTerminated, PodStatus, SchedulingGate


class Hook(Slim, frozen=True, gc=False):
    """What a container does at a turn of its life; what it is, is not read."""


class Lifecycle(Slim, frozen=True, gc=False):
    """The hooks of a container."""

    pre_stop: Hook | None = None


class PodContainer(Slim, frozen=True, gc=False):
    """One container of the spec."""

    name: str = ""
    image: str = ""
    lifecycle: Lifecycle | None = None


class RayPodSpec(Slim, frozen=True, gc=False):
    """The part of the spec that is read."""

    node_name: str = ""
    containers: tuple[PodContainer, ...] = ()
    restart_policy: str = "Always"
    scheduling_gates: tuple[SchedulingGate, ...] = ()


_NO_SPEC = RayPodSpec()
_NO_STATUS = PodStatus()


class RayPod(KubeObject, frozen=True, gc=False):
    """The pod of a head or a worker."""

    spec: RayPodSpec = _NO_SPEC
    status: PodStatus = _NO_STATUS

    @property
    def is_head(self) -> bool:
        """Whether it is, or was, the cluster's head."""
        return self.metadata.label(labels.NODE_TYPE) == labels.HEAD

    @property
    def is_worker(self) -> bool:
        """Whether it belongs to a worker group."""
        return self.metadata.label(labels.NODE_TYPE) == labels.WORKER

    @property
    def group(self) -> str:
        """The worker group's name."""
        return self.metadata.label(labels.GROUP)

    @property
    def replica_name(self) -> str:
        """What the hosts of one replica share."""
        return self.metadata.label(labels.REPLICA_NAME)

    @property
    def replica_index(self) -> int | None:
        """Which replica of its group it is, where it says so."""
        return _number(self.metadata.label(labels.REPLICA_INDEX))

    @property
    def host_index(self) -> int | None:
        """Which host of its replica it is, where it says so."""
        return _number(self.metadata.label(labels.HOST_INDEX))

    @property
    def incarnation(self) -> str:
        """Names one life of its Ray container."""
        name = self.spec.containers[0].name if self.spec.containers else ""
        restarts = next((each.restart_count for each in self.status.container_statuses or () if each.name == name), 0)
        return f"{self.metadata.uid}/{restarts}"

    @property
    def image(self) -> str:
        """The image of the Ray container, which is the first."""
        return self.spec.containers[0].image if self.spec.containers else ""

    @property
    def drains(self) -> bool:
        """Whether something is done before its Ray container is stopped."""
        lifecycle = self.spec.containers[0].lifecycle if self.spec.containers else None
        return lifecycle is not None and lifecycle.pre_stop is not None

    @property
    def running(self) -> bool:
        """Whether its containers were started."""
        return self.status.phase == "Running"

    @property
    def readiness(self) -> str:
        """The status of its condition Ready: ``True``, ``False``, or empty where nobody says."""
        return next((found.status for found in self.status.conditions or () if found.type == "Ready"), "")

    @property
    def ready(self) -> bool:
        """Whether it runs and says that it is ready."""
        return self.running and self.readiness == "True"

    @property
    def up(self) -> bool:
        """Whether it runs and nobody says that it is not ready: KubeRay's measure of a cluster's readiness."""
        return self.running and self.readiness != "False"

    def ended(self) -> str:
        """Why it will never run Ray again; empty while it may."""
        phase = self.status.phase
        if phase in ("Failed", "Succeeded"):
            return f"Pod phase is {phase}{_details(self.status.reason, self.status.message)}"
        terminated = self.ray_container_terminated()
        if self.running and terminated is not None and self.spec.restart_policy == "Never":
            reason = terminated.reason or "no reason given"
            return (
                f"Ray container terminated with exit code {terminated.exit_code} ({reason}) and restartPolicy is Never"
            )
        return ""

    def ray_container_terminated(self) -> ContainerStateTerminated | None:
        """How the Ray container ended, if it has. Statuses come in any order: it is found by name."""
        name = self.spec.containers[0].name if self.spec.containers else ""
        for status in self.status.container_statuses or ():
            if status.name == name:
                return status.state.terminated if status.state else None
        return None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _details(reason: str, message: str) -> str:
    said = ": ".join(part for part in (reason, message) if part)
    return f" ({said})" if said else ""
