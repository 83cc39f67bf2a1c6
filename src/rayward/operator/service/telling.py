"""What users hear of a service: events as things happen, the status as things are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.meta import condition_of, is_true
from rayward.kube.runtime.events import ComponentRecorder
from rayward.operator.service.conditions import READY, SUSPENDED, SUSPENDING, Conditions
from rayward.operator.service.situation import Decision
from rayward.operator.service.status import change

_EXTRAS: Final = frozenset(("status", "appStatus", "rayClusterName", "deploymentStatuses", "startTime", "endTime"))
"""Fields that KubeRay's own CRDs do not have, so that a server with those does not keep them."""
_MOST_EVENTS: Final = 256

_TRANSITIONS: Final[tuple[tuple[str, str, Literal["Normal", "Warning"], str, str], ...]] = (
    (READY, "True", "Normal", "Ready", "the service takes requests"),
    (READY, "False", "Warning", "NotReady", ""),
    (SUSPENDING, "True", "Normal", "Suspending", "its clusters and services are being deleted"),
    (SUSPENDED, "True", "Normal", "Suspended", "no cluster is left"),
    (SUSPENDED, "False", "Normal", "Resumed", "a first cluster is made again"),
)


@dataclass(slots=True)
class Told:
    """What was told already; forgetting it costs a repetition, never a decision."""

    status: Object = field(default_factory=dict[str, Any])
    generation: int = 0
    events: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Of this generation, by reason and message."""


class Teller:
    """Tells about one service."""

    def __init__(self, recorder: ComponentRecorder, service: RayService, told: Told) -> None:
        self._recorder = recorder
        self._service = service
        self._told = told
        if told.generation != service.metadata.generation:
            told.generation = service.metadata.generation
            told.events.clear()

    def say(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Tell what happened, once for each generation of the spec."""
        if (reason, message) not in self._told.events:
            if len(self._told.events) >= _MOST_EVENTS:
                self._told.events.clear()
            self._told.events.add((reason, message))
            self._recorder.event(RAY_SERVICES, self._service, kind, reason, message)

    def announce(self, decision: Decision) -> None:
        """Tell what was decided and is not seen in a write."""
        if decision.failure is not None:
            self.say("Warning", decision.failure.reason, decision.failure.message)
        if decision.redeploy:
            message = f"applications of RayCluster {decision.redeploy} stay unhealthy: started anew"
            self.say("Warning", "RedeployedApplications", message)
        if decision.heals:
            message = f"applications stay unhealthy: a new cluster replaces theirs (remedy {decision.heals})"
            self.say("Warning", "ReplacingUnhealthyCluster", message)
        if decision.exhausted:
            self.say("Warning", "SelfHealingExhausted", "applications stay unhealthy, and every remedy was tried")
        if decision.drifted:
            self.say("Warning", "ClusterSpecIgnored", "upgradeStrategy None keeps the running cluster as it is")

        for note in decision.notes:
            if note.config is not None:
                message = f"RayCluster {note.member} is to run another serve config"
                self.say("Normal", "UpdatingServeApplications", f"{message} ({note.config})")
            if note.good_config is not None:
                message = f"all applications of RayCluster {note.member} are RUNNING"
                self.say("Normal", "UpdatedServeApplications", f"{message} ({note.good_config})")

    def transitions(self, before: Conditions | None, after: Conditions) -> None:
        """Tell what the service has become, as its status says now."""
        for kind, status, event, reason, message in _TRANSITIONS:
            was, now = condition_of(before, kind), condition_of(after, kind)
            if now is None or now.status != status or (was is not None and was.status == status):
                continue
            # That a new service does not serve yet is no news.
            if status == "True" or (was is not None and not is_true(after, SUSPENDING)):
                self._recorder.event(RAY_SERVICES, self._service, event, reason, message or now.message)

    def news(self, before: Object, status: Object) -> Object:
        """The part of ``status`` that the server does not have; what its schema drops counts as it was last told."""
        kept = {name: value for name, value in self._told.status.items() if name in _EXTRAS}
        changes = change({**kept, **before}, status)
        if changes:
            self._told.status = status
        return changes
