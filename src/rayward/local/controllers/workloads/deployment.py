"""Deployments, as their controller reads and reports them, and the arithmetic of their surges."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.core.objects import KubeObject, Slim
from rayward.kube.machinery.jsonvalue import Object

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
HASH: Final = "pod-template-hash"
_NEVER: Final = 2**31 - 1


class _Rolling(Slim, frozen=True, gc=False):
    max_unavailable: int | str = 0
    max_surge: int | str = 0


class _Strategy(Slim, frozen=True, gc=False):
    type: str = "RollingUpdate"
    rolling_update: _Rolling | None = None


class DeploymentSpec(Slim, frozen=True, gc=False):
    """What is asked for."""

    replicas: int = 1
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    progress_deadline_seconds: int | None = None
    paused: bool = False
    selector: Object = msgspec.field(default_factory=dict)
    template: Object = msgspec.field(default_factory=dict)
    strategy: _Strategy = _Strategy()

    @property
    def rolls(self) -> bool:
        """Whether old pods stay until new ones are there."""
        return self.strategy.type == "RollingUpdate"

    @property
    def has_deadline(self) -> bool:
        """Whether a rollout that does not go on is told."""
        return self.progress_deadline_seconds not in (None, _NEVER)

    @property
    def surge(self) -> int:
        """How many pods more than asked for may be there."""
        return self._bounds[0]

    @property
    def unavailable(self) -> int:
        """How many of the pods asked for may be missing."""
        return min(self._bounds[1], self.replicas)

    @property
    def _bounds(self) -> tuple[int, int]:
        rolling = self.strategy.rolling_update
        if not self.rolls or rolling is None:
            return 0, 0
        surge = _share(rolling.max_surge, self.replicas, up=True)
        unavailable = _share(rolling.max_unavailable, self.replicas, up=False)
        # Else nothing could ever change.
        return (surge, unavailable) if surge or unavailable else (0, 1)


def _share(value: int | str, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    hundredths = int(value.removesuffix("%")) * of
    return -(-hundredths // 100) if up else hundredths // 100


class DeploymentCondition(Slim, frozen=True, gc=False):
    """A condition of a deployment."""

    type: str = ""
    status: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class DeploymentStatus(Slim, frozen=True, gc=False):
    """How far a rollout is."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[DeploymentCondition, ...] | None = None
    collision_count: int | None = None

    def condition(self, kind: str) -> DeploymentCondition | None:
        """The condition of one type."""
        return next((found for found in self.conditions or () if found.type == kind), None)


class SeenDeployment(KubeObject, frozen=True, gc=False):
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()
