"""The conditions of a RayService: does it serve, is it changing, what stopped it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.validation import FEATURE_MISSING
from rayward.kube.core.meta import condition_of, is_true, with_condition, without_condition
from rayward.kube.core.objects import Condition
from rayward.operator.service.readiness import CLUSTER_SUSPENDED, UNKNOWN, WAITING_FOR_QUOTA
from rayward.operator.service.state import Decision, Failure, Stage

READY: Final = "Ready"
UPGRADE: Final = "UpgradeInProgress"
ROLLBACK: Final = "RollbackInProgress"
"""KubeRay's, of an upgrade strategy that is not there; set by a suspension only, as KubeRay does."""
PROGRESSING: Final = "Progressing"
RELEASE_FAILED: Final = "ReleaseFailed"
"""Which generation was given up and why: decisions read it, and nothing else is ever written there. Progressing shows
it too, and other things at other times."""
DRIFTED: Final = "Drifted"
EXHAUSTED: Final = "SelfHealingExhausted"
WORKERS_MISSING: Final = "WorkersMissing"
"""The cluster that serves has fewer running workers than it asks for."""
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
SUSPENDING: Final = "Suspending"
SUSPENDED: Final = "Suspended"

Conditions = tuple[Condition, ...]

_NO_FAILURES: Final = frozenset({"ValidationFailed", FEATURE_MISSING, "SuspendInProgress", "SuspendComplete"})
"""Why nothing progresses though no change was tried: the spec was rejected, the service is suspended."""
_LONGEST: Final = 32_768
"""As long as the message of a condition may be in Kubernetes."""
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
    observed: int = 0
    """``status.observedGeneration`` so far."""
    moving: str = ""
    """What has to follow the selector of the serve Service before all requests go where it leads."""


def observed_generation(facts: Facts) -> int:
    """``status.observedGeneration``: it moves when the generation is true, or will not become so by itself.

    kstatus compares generations before it reads conditions: until then it must find an older one.
    """
    return facts.generation if _is_true(facts) or _stalled(facts) is not None else facts.observed


def failure_of(before: Conditions | None, generation: int) -> Failure | None:
    """Why this very generation was given up; older versions recorded it in Progressing alone."""
    found = condition_of(before, RELEASE_FAILED)
    if found is not None and found.status == "True" and found.observed_generation == generation:
        message, _, detail = found.message.partition("\n")
        return Failure(found.reason, message, detail)
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
    if progressing is not None and progressing.reason in (CLUSTER_SUSPENDED, WAITING_FOR_QUOTA):
        return "Queued"
    return "Unavailable" if served_before(found) else "Initializing"


def served_before(before: Conditions | None) -> bool:
    """Whether it ever served since it was created or resumed."""
    found = condition_of(before, READY)
    return found is not None and (found.status == "True" or found.reason in _NO_LONGER)


def conditions(before: Conditions | None, facts: Facts, now: datetime) -> Conditions:
    """The conditions of a service that is not suspended."""
    result = before or ()
    if condition_of(result, SUSPENDED) is not None:
        result = _put(result, facts, now, SUSPENDED, "False", "RayServiceResumed", "")
    ready, progressing, stalled = _ready(before, facts), _progressing(before, facts), _stalled(facts)
    result = _put(result, facts, now, READY, *ready, generation=_ready_generation(before, facts, ready[0]))
    result = _put(result, facts, now, UPGRADE, *_upgrade(facts.decision))
    result = _put(result, facts, now, PROGRESSING, *progressing)
    doing = ("EndpointsMoving", facts.moving) if _only_moves(facts) else progressing[1:]
    result = _only_while(result, facts, now, RECONCILING, _is_reconciling(facts), *doing)
    why = stalled or Failure("", "")
    result = _only_while(result, facts, now, STALLED, stalled is not None, why.reason, why.message)
    failure = facts.decision.failure or Failure("", "")
    given_up = facts.decision.failure is not None
    # Its detail is nowhere else once the config was rolled back, or the cluster deleted.
    whole = f"{failure.message}\n{failure.detail}" if failure.detail else failure.message
    result = _only_while(result, facts, now, RELEASE_FAILED, given_up, failure.reason, whole)
    missing = facts.decision.active.missing if facts.decision.active is not None else ""
    result = _only_while(result, facts, now, WORKERS_MISSING, bool(missing), "PodsNotRunning", missing)
    result = _with_quota(result, facts, now)
    result = _only_while(result, facts, now, DRIFTED, facts.decision.drifted, "UpgradeStrategyNone", _DRIFT)
    return _only_while(result, facts, now, EXHAUSTED, facts.decision.exhausted, "RestartThresholdReached", _EXHAUSTED)


def _with_quota(before: Conditions, facts: Facts, now: datetime) -> Conditions:
    """Whether the RayCluster of this generation may run; left out where it is in no queue."""
    target = facts.decision.pending or facts.decision.active
    quota = target.quota if target is not None else None
    if quota is None:
        return without_condition(before, QUOTA_RESERVED)
    message = f"RayCluster {target.name}: {quota.message}" if target is not None else ""
    return _put(before, facts, now, QUOTA_RESERVED, quota.status, quota.reason, message)


_DRIFT: Final = (
    "spec.rayClusterConfig differs from the running RayCluster, which spec.upgradeStrategy.type None keeps: "
    "set it to NewCluster to replace the RayCluster without downtime"
)
_EXHAUSTED: Final = (
    "Applications are still unhealthy after self-healing acted as often as spec.deploymentUnhealthyRestartThreshold "
    "allows: see their messages in status and correct the spec"
)


def _is_true(facts: Facts) -> bool:
    """Whether this generation has the traffic, and nothing is left to do but to delete what served before.

    The selector of the Service is no proof: a ready endpoint may be the former cluster's until its controller has
    followed.
    """
    return not facts.moving and _serves(facts)


def _only_moves(facts: Facts) -> bool:
    """Whether nothing but the way of the requests is left to wait for."""
    without = facts if facts.endpoints else dataclasses.replace(facts, endpoints=1)
    return bool(facts.moving) and _serves(without)


def _serves(facts: Facts) -> bool:
    decision = facts.decision
    serves = decision.settled and facts.endpoints > 0 and not facts.silent
    ready = decision.readiness is not None and decision.readiness.stage is Stage.READY
    return serves and ready and not (facts.denied or decision.drifted or _given_up(facts))


def _given_up(facts: Facts) -> Failure | None:
    return facts.rejected or facts.decision.failure


def _stalled(facts: Facts) -> Failure | None:
    """Why this generation will not become true by itself."""
    decision = facts.decision
    if (failure := _given_up(facts)) is not None:
        return failure
    if decision.drifted and (facts.observed == facts.generation or _is_true(_without_drift(facts))):
        return Failure("UpgradeStrategyNone", _DRIFT)
    return Failure(EXHAUSTED, _EXHAUSTED) if decision.exhausted else None


def _without_drift(facts: Facts) -> Facts:
    return dataclasses.replace(facts, decision=dataclasses.replace(facts.decision, drifted=False))


def _is_reconciling(facts: Facts) -> bool:
    """A generation that was true once is reconciled again only where another cluster is made."""
    behind = facts.observed != facts.generation or not facts.decision.settled
    return behind and not _is_true(facts) and _stalled(facts) is None


def _ready_generation(before: Conditions | None, facts: Facts, status: str) -> int:
    """The generation that is ready: while another one is rolled out, or was given up, not this one."""
    was_true = facts.observed == facts.generation and _stalled(facts) is None
    if status != "True" or was_true or _is_true(facts):
        return facts.generation
    found = condition_of(before, READY)
    if found is not None and found.status == "True" and found.observed_generation is not None:
        return found.observed_generation
    return facts.generation - 1


def _ready(before: Conditions | None, facts: Facts) -> tuple[str, str, str]:
    if facts.endpoints > 0 and facts.silent:
        return "False", "NoRunningReplica", f"No running replica of {', '.join(facts.silent)}"
    if facts.endpoints > 0:
        count = "1 Serve endpoint is" if facts.endpoints == 1 else f"{facts.endpoints} Serve endpoints are"
        return "True", "NonZeroServeEndpoints", f"{count} ready"
    if served_before(before):
        readiness = facts.decision.readiness
        suspended = readiness is not None and readiness.reason == CLUSTER_SUSPENDED and readiness.message
        return "False", "ZeroServeEndpoints", suspended or "No Serve endpoint is ready"
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
        missing = decision.active.missing if decision.active is not None else ""
        return "True", "NewReleaseAvailable", f"{readiness.message}; {missing}" if missing else readiness.message
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
    found: Conditions,
    facts: Facts,
    now: datetime,
    kind: str,
    status: str,
    reason: str,
    message: str,
    *,
    generation: int | None = None,
) -> Conditions:
    about = facts.generation if generation is None else generation
    new = Condition(type=kind, status=status, reason=reason, message=message[:_LONGEST], observed_generation=about)
    return with_condition(found, new, now)
