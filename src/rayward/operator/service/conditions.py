"""The conditions of a service: does it serve, is it changing, what stopped it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rayward.kinds.validation import FEATURE_MISSING
from rayward.kube.core.meta import condition_of, is_true, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.service.situation import Decision, Failure
from rayward.operator.service.verdict import UNKNOWN, Stage

READY: Final = "Ready"
UPGRADE: Final = "UpgradeInProgress"
PROGRESSING: Final = "Progressing"
DRIFTED: Final = "Drifted"
EXHAUSTED: Final = "SelfHealingExhausted"
SUSPENDING: Final = "Suspending"
SUSPENDED: Final = "Suspended"

Conditions = tuple[Condition, ...]

_NO_FAILURES: Final = frozenset({"ValidationFailed", FEATURE_MISSING, "SuspendInProgress", "SuspendComplete"})
"""Why nothing progresses though no change was tried: a spec that is refused, a service that is suspended."""
_LONGEST: Final = 4096
_NO_LONGER: Final = frozenset({"ZeroServeEndpoints", "NoRunningReplica"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What the conditions tell of."""

    generation: int
    endpoints: int
    """Ready addresses behind the serve service."""
    decision: Decision
    silent: tuple[str, ...] = ()
    """Applications that have no replica left to answer, though pods take requests for them."""
    refused: Failure | None = None
    """Why the spec is refused, if it is."""
    trouble: str = ""
    """Why the server does not let the operator go on."""


def failure_of(before: Conditions | None, generation: int) -> Failure | None:
    """The failure of a change to this very generation, as remembered in the Progressing condition."""
    found = condition_of(before, PROGRESSING)
    if found is None or found.status != "False" or found.observed_generation != generation:
        return None
    return None if found.reason in _NO_FAILURES else Failure(found.reason, found.message)


def phase_of(found: Conditions | None) -> str:
    """What the service is doing, in one word."""
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
    """Whether it ever served since it was made or resumed."""
    found = condition_of(before, READY)
    return found is not None and (found.status == "True" or found.reason in _NO_LONGER)


def conditions(before: Conditions | None, seen: Seen, now: datetime) -> Conditions:
    """The conditions of a service that is not suspended."""
    result = without_condition(before, SUSPENDING)
    if condition_of(result, SUSPENDED) is not None:
        result = _put(result, seen, now, SUSPENDED, "False", "RayServiceResumed", "")
    result = _put(result, seen, now, READY, *_ready(before, seen))
    result = _put(result, seen, now, UPGRADE, *_upgrade(seen.decision))
    result = _put(result, seen, now, PROGRESSING, *_progressing(before, seen))
    result = _only_while(result, seen, now, DRIFTED, seen.decision.drifted, "UpgradeStrategyNone", _DRIFT)
    return _only_while(result, seen, now, EXHAUSTED, seen.decision.exhausted, "RestartThresholdReached", _HEALED_OUT)


_DRIFT: Final = (
    "spec.rayClusterConfig differs from the running cluster, and upgradeStrategy.type None keeps it; "
    "set the type to NewCluster to have it replaced without downtime"
)
_HEALED_OUT: Final = (
    "applications are still unhealthy after deploymentUnhealthyRestartThreshold new clusters; "
    "see their messages in status and correct the spec"
)


def _ready(before: Conditions | None, seen: Seen) -> tuple[str, str, str]:
    if seen.endpoints > 0 and seen.silent:
        return "False", "NoRunningReplica", f"no replica is left to answer for {', '.join(seen.silent)}"
    if seen.endpoints > 0:
        count = "1 pod takes" if seen.endpoints == 1 else f"{seen.endpoints} pods take"
        return "True", "NonZeroServeEndpoints", f"{count} requests"
    if served_before(before):
        return "False", "ZeroServeEndpoints", "no pod takes requests"
    if seen.refused:
        return "False", seen.refused.reason, seen.refused.message
    failure = seen.decision.failure
    if failure is not None:
        return "False", failure.reason, failure.message
    return (
        "False",
        "Initializing",
        seen.decision.verdict.message if seen.decision.verdict else "making the first cluster",
    )


def _upgrade(decision: Decision) -> tuple[str, str, str]:
    if decision.active and (decision.pending or decision.create):
        return "True", "BothActivePendingClustersExist", "a new cluster is made ready beside the one that serves"
    if decision.active is None:
        return "Unknown", "NoActiveCluster", "no cluster serves yet"
    return "False", "NoPendingCluster", "the cluster that serves is the only one"


def _progressing(before: Conditions | None, seen: Seen) -> tuple[str, str, str]:
    decision = seen.decision
    if seen.refused:
        return "False", seen.refused.reason, seen.refused.message
    if decision.failure is not None:
        return "False", decision.failure.reason, decision.failure.message
    if seen.trouble:
        return "True", "FailedWrite", seen.trouble
    verdict = decision.verdict
    if decision.pending is None and decision.create is None and verdict is not None and verdict.stage is Stage.READY:
        return "True", "NewReleaseAvailable", verdict.message
    if verdict is None:
        return "True", "CreatingCluster", "a Ray cluster is being made"
    told = condition_of(before, PROGRESSING)
    if verdict.reason == UNKNOWN and told is not None and told.observed_generation == seen.generation:
        # An operator that has just begun knows nothing better than what was told before.
        return told.status, told.reason, told.message
    return "True", verdict.reason, verdict.message


def _only_while(
    found: Conditions, seen: Seen, now: datetime, kind: str, holds: bool, reason: str, message: str
) -> Conditions:
    if holds:
        return _put(found, seen, now, kind, "True", reason, message)
    return without_condition(found, kind)


def _put(found: Conditions, seen: Seen, now: datetime, kind: str, status: str, reason: str, message: str) -> Conditions:
    new = Condition(
        type=kind, status=status, reason=reason, message=message[:_LONGEST], observed_generation=seen.generation
    )
    return with_condition(found, new, now)
