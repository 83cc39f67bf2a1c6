"""The conditions of a RayService: does it serve, is it changing, what stopped it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rayward.kinds.validation import FEATURE_MISSING
from rayward.kube.core.meta import condition_of, is_true, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.service.readiness import UNKNOWN
from rayward.operator.service.state import Decision, Failure, Stage

READY: Final = "Ready"
UPGRADE: Final = "UpgradeInProgress"
PROGRESSING: Final = "Progressing"
RELEASE_FAILED: Final = "ReleaseFailed"
"""Which generation was given up and why: decisions read it, and nothing else is ever written there. Progressing shows it
too, and other things at other times."""
DRIFTED: Final = "Drifted"
EXHAUSTED: Final = "SelfHealingExhausted"
SUSPENDING: Final = "Suspending"
SUSPENDED: Final = "Suspended"

Conditions = tuple[Condition, ...]

_NO_FAILURES: Final = frozenset({"ValidationFailed", FEATURE_MISSING, "SuspendInProgress", "SuspendComplete"})
"""Why nothing progresses though no change was tried: the spec was rejected, the service is suspended."""
_LONGEST: Final = 4096
_NO_LONGER: Final = frozenset({"ZeroServeEndpoints", "NoRunningReplica"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the conditions report."""

    generation: int
    endpoints: int
    """Ready addresses behind the serve Service."""
    decision: Decision
    silent: tuple[str, ...] = ()
    """Applications that have no replica left, though there are endpoints."""
    rejected: Failure | None = None
    """Why the spec is rejected, if it is."""
    denied: str = ""
    """Why the API server does not let the operator go on."""


def failure_of(before: Conditions | None, generation: int) -> Failure | None:
    """Why this very generation was given up; older versions recorded it in Progressing alone."""
    found = condition_of(before, RELEASE_FAILED)
    if found is not None and found.status == "True" and found.observed_generation == generation:
        return Failure(found.reason, found.message)
    found = condition_of(before, PROGRESSING)
    if found is None or found.status != "False" or found.observed_generation != generation:
        return None
    return None if found.reason in _NO_FAILURES else Failure(found.reason, found.message)


def phase_of(found: Conditions | None) -> str:
    """What the service is doing, for metrics: one word."""
    if is_true(found, SUSPENDED):
        return "Suspended"
    if is_true(found, SUSPENDING):
        return "Suspending"
    if is_true(found, UPGRADE):
        return "Upgrading"
    if is_true(found, READY):
        return "Running"
    progressing = condition_of(found, PROGRESSING)
    if progressing is not None and progressing.status == "False":
        return "Failed"
    return "Unavailable" if served_before(found) else "Initializing"


def served_before(before: Conditions | None) -> bool:
    """Whether it ever served since it was created or resumed."""
    found = condition_of(before, READY)
    return found is not None and (found.status == "True" or found.reason in _NO_LONGER)


def conditions(before: Conditions | None, facts: Facts, now: datetime) -> Conditions:
    """The conditions of a service that is not suspended."""
    result = without_condition(before, SUSPENDING)
    if condition_of(result, SUSPENDED) is not None:
        result = _put(result, facts, now, SUSPENDED, "False", "RayServiceResumed", "")
    result = _put(result, facts, now, READY, *_ready(before, facts))
    result = _put(result, facts, now, UPGRADE, *_upgrade(facts.decision))
    result = _put(result, facts, now, PROGRESSING, *_progressing(before, facts))
    failure = facts.decision.failure or Failure("", "")
    given_up = facts.decision.failure is not None
    result = _only_while(result, facts, now, RELEASE_FAILED, given_up, failure.reason, failure.message)
    result = _only_while(result, facts, now, DRIFTED, facts.decision.drifted, "UpgradeStrategyNone", _DRIFT)
    return _only_while(result, facts, now, EXHAUSTED, facts.decision.exhausted, "RestartThresholdReached", _EXHAUSTED)


_DRIFT: Final = (
    "spec.rayClusterConfig differs from the running RayCluster, which spec.upgradeStrategy.type None keeps: "
    "set it to NewCluster to replace the RayCluster without downtime"
)
_EXHAUSTED: Final = (
    "Applications are still unhealthy after self-healing acted as often as spec.deploymentUnhealthyRestartThreshold "
    "allows: see their messages in status and correct the spec"
)


def _ready(before: Conditions | None, facts: Facts) -> tuple[str, str, str]:
    if facts.endpoints > 0 and facts.silent:
        return "False", "NoRunningReplica", f"No running replica of {', '.join(facts.silent)}"
    if facts.endpoints > 0:
        count = "1 Serve endpoint is" if facts.endpoints == 1 else f"{facts.endpoints} Serve endpoints are"
        return "True", "NonZeroServeEndpoints", f"{count} ready"
    if served_before(before):
        return "False", "ZeroServeEndpoints", "No Serve endpoint is ready"
    if facts.rejected:
        return "False", facts.rejected.reason, facts.rejected.message
    failure = facts.decision.failure
    if failure is not None:
        return "False", failure.reason, failure.message
    readiness = facts.decision.readiness
    return "False", "Initializing", readiness.message if readiness else "Creating a RayCluster"


def _upgrade(decision: Decision) -> tuple[str, str, str]:
    if decision.active and (decision.pending or decision.create):
        pending = f"RayCluster {decision.pending.name}" if decision.pending else "a RayCluster"
        message = f"Preparing {pending}; RayCluster {decision.active.name} serves until it is ready"
        return "True", "BothActivePendingClustersExist", message
    if decision.active is None:
        return "Unknown", "NoActiveCluster", "No RayCluster serves yet"
    return "False", "NoPendingCluster", f"RayCluster {decision.active.name} gets all traffic"


def _progressing(before: Conditions | None, facts: Facts) -> tuple[str, str, str]:
    decision = facts.decision
    if facts.rejected:
        return "False", facts.rejected.reason, facts.rejected.message
    if decision.failure is not None:
        return "False", decision.failure.reason, decision.failure.message
    if facts.denied:
        return "True", "FailedWrite", facts.denied
    readiness = decision.readiness
    if (
        decision.pending is None
        and decision.create is None
        and readiness is not None
        and readiness.stage is Stage.READY
    ):
        return "True", "NewReleaseAvailable", readiness.message
    if readiness is None:
        return "True", "CreatingCluster", "Creating a RayCluster"
    reported = condition_of(before, PROGRESSING)
    if readiness.reason == UNKNOWN and reported is not None and reported.observed_generation == facts.generation:
        # An operator that has just started knows nothing better than what was reported before.
        return reported.status, reported.reason, reported.message
    return "True", readiness.reason, readiness.message


def _only_while(
    found: Conditions, facts: Facts, now: datetime, kind: str, holds: bool, reason: str, message: str
) -> Conditions:
    if holds:
        return _put(found, facts, now, kind, "True", reason, message)
    return without_condition(found, kind)


def _put(
    found: Conditions, facts: Facts, now: datetime, kind: str, status: str, reason: str, message: str
) -> Conditions:
    new = Condition(
        type=kind, status=status, reason=reason, message=message[:_LONGEST], observed_generation=facts.generation
    )
    return with_condition(found, new, now)
