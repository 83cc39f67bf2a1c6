"""What is known of a pod's containers, as values."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.machinery.jsonvalue import Object


class Run(msgspec.Struct, frozen=True):
    """One run of one container. Times are seconds since 1970."""

    attempt: int
    started: float | None = None
    ended: float | None = None
    code: int | None = None
    failed: str = ""
    """Why it did not start."""
    reason: str = ""
    """Why it ended, where more is known than its exit code."""
    message: str = ""
    stale: bool = False
    """Whether it belongs to an earlier sandbox of the pod."""
    image: str = ""
    """The image it was started from, if that is known."""
    superseded: bool = False
    """Whether it was ended so that the container runs from another image."""

    @property
    def over(self) -> bool:
        return self.ended is not None

    @property
    def succeeded(self) -> bool:
        """Whether it ended well."""
        return self.over and self.code == 0

    def is_of_other_image(self, container: Object) -> bool:
        """Whether the container is to run from another image by now."""
        return self.image not in ("", container.get("image", ""))

    def ending(self) -> tuple[str, str]:
        """Reason and message of its end."""
        if self.failed:
            return "StartError", self.failed
        return self.reason or ("Completed" if self.code == 0 else "Error"), self.message


class Backoff(msgspec.Struct, frozen=True):
    """How long to wait before the next start, and since when that is so."""

    delay: float = 0.0
    updated: float = 0.0


class Waiting(msgspec.Struct, frozen=True):
    """Why a container cannot be started now."""

    reason: str
    message: str


class Container(msgspec.Struct, frozen=True):
    """What is known of one container."""

    run: Run | None = None
    previous: Run | None = None
    """The run before ``run``, for ``lastState``."""
    backoff: Backoff = Backoff()
    blocked: Waiting | None = None
    startup: bool | None = None
    """Whether the startup probe said yes; None before its first word."""
    ready: bool | None = None
    """What the readiness probe says; None before its first word."""
    greeted: bool = True
    """Whether the postStart hook is done."""
    condemned: str = ""
    """Why it must be killed and started again: a liveness or startup probe, or a hook that failed."""
    stopping: bool = False

    @property
    def running(self) -> bool:
        """Whether its program runs."""
        return self.run is not None and self.run.started is not None and not self.run.over

    @property
    def alive(self) -> bool:
        """Whether it runs or is being started."""
        return self.run is not None and not self.run.over


class Pod(msgspec.Struct, frozen=True):
    """What is known of a pod on this node."""

    containers: dict[str, Container]
    address: str = ""
    """Its address, once its sandbox is there."""
    host: str = ""
    begun: float = 0.0
    """When this node took it."""
    ended: tuple[str, str] | None = None
    """Reason and message with which the node itself gave the pod up."""


UNKNOWN: Final = Container()


def is_sidecar(container: Object) -> bool:
    """Whether an init container stays for as long as the pod."""
    return container.get("restartPolicy") == "Always"
