"""What users hear of a service: events as things happen, the status as things are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.operator.service.situation import Decision
from rayward.operator.service.status import change

_EXTRAS: Final = frozenset(("status", "appStatus", "rayClusterName", "deploymentStatuses", "startTime", "endTime"))
"""Fields that KubeRay's own CRDs do not have, so that a server with those does not keep them."""


@dataclass(slots=True)
class Told:
    """What was told already; forgetting it costs a repetition, never a decision."""

    status: Object = field(default_factory=dict[str, Any])
    generation: int = 0
    events: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Of this generation, by reason and message."""


class Teller:
    """Tells about one service."""

    def __init__(self, recorder: EventRecorder, service: RayService, told: Told) -> None:
        self._recorder = recorder
        self._service = service
        self._told = told
        if told.generation != service.metadata.generation:
            told.generation = service.metadata.generation
            told.events.clear()

    def say(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Tell what happened, once for each generation of the spec."""
        if (reason, message) not in self._told.events:
            self._told.events.add((reason, message))
            self._recorder.record(reference(RAY_SERVICES, self._service), kind, reason, message)

    def announce(self, decision: Decision) -> None:
        """Tell what was decided and is not seen in a write."""
        if decision.failure is not None:
            self.say("Warning", decision.failure.reason, decision.failure.message)
        if decision.redeploy:
            message = f"applications of RayCluster {decision.redeploy} stay unhealthy: started anew"
            self.say("Warning", "RedeployedApplications", message)
        if decision.heals:
            message = "applications stay unhealthy: a new cluster replaces theirs"
            self.say("Warning", "ReplacingUnhealthyCluster", message)
        if decision.exhausted:
            self.say("Warning", "SelfHealingExhausted", "applications stay unhealthy, and every remedy was tried")
        if decision.drifted:
            self.say("Warning", "ClusterSpecIgnored", "upgradeStrategy None keeps the running cluster as it is")

    def news(self, before: Object, status: Object) -> Object:
        """The part of ``status`` that the server does not have; what its schema drops counts as it was last told."""
        kept = {name: value for name, value in self._told.status.items() if name in _EXTRAS}
        changes = change({**kept, **before}, status)
        if changes:
            self._told.status = status
        return changes
