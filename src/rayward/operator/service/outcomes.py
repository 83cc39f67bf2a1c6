"""How changes of services end, for who counts them."""

from __future__ import annotations

from typing import Protocol

from rayward.kinds.rayservice import RayService


class ChangeObserver(Protocol):
    """Told of every change that came to its end."""

    def switched(self, service: RayService, seconds: float) -> None:
        """Requests go to another cluster, so long after the edit."""
        ...

    def failed(self, service: RayService, reason: str) -> None:
        """A change was given up."""
        ...
