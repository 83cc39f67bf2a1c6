"""How Workloads that wait stand in their queues, from a ledger that is computed now and then."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from rayward.kinds import labels
from rayward.kinds.durations import duration
from rayward.kinds.kueue import Workload, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.meta import parse_time
from rayward.kube.core.objects import Key
from rayward.kube.runtime.clock import Clock
from rayward.quota.gate.demand import counted
from rayward.quota.gate.observe import SURGE, Caches, is_promoted, role_of, siblings
from rayward.quota.gate.state import Standing
from rayward.quota.ledger import Ledger, Objects, proposed
from rayward.quota.sources import BY_CLUSTER

WAIT: Final = "Wait"
RECREATE: Final = "Recreate"
REJECT: Final = "Reject"
INCREMENTAL: Final = "Incremental"
_POLICIES: Final = (WAIT, RECREATE, REJECT, INCREMENTAL)
_OLD_SECONDS: Final = 1.0


class Standings:
    """Ledgers of the caches; one is used for a second, because a storm of upgrades asks for hundreds."""

    def __init__(self, caches: Caches, clock: Clock) -> None:
        self._caches = caches
        self._clock = clock
        self._ledger: Ledger | None = None
        self._made_at = 0.0

    def of(self, cluster: RayCluster, waiting: Workload) -> Standing:
        """How a Workload of ``cluster`` stands."""
        verdict = self._fresh(str(waiting.key)).verdict(waiting)
        never = verdict.never_fits
        if never and role_of(self._caches, cluster) == SURGE:
            service = cluster.metadata.label(labels.ORIGIN_NAME)
            never = f"{never}. RayService {service} goes on with the release that serves. {self._policy_note(cluster)}"
        return Standing(
            never_fits=never,
            problem=verdict.problem,
            message=verdict.message,
            fits_now=verdict.fits_now,
            waiting=verdict.waiting,
        )

    def policy(self, cluster: RayCluster) -> str:
        """What the RayService of a cluster says about upgrades that can never fit."""
        return self._setting(cluster, labels.QUOTA_POLICY) or WAIT

    def queue_timeout(self, cluster: RayCluster) -> timedelta | None:
        """How long the RayService of a cluster lets an upgrade wait for quota; None for ever."""
        return duration(self._setting(cluster, labels.QUEUE_TIMEOUT))

    def _setting(self, cluster: RayCluster, annotation: str) -> str:
        if cluster.metadata.label(labels.ORIGIN_KIND) != RAY_SERVICES.kind:
            return ""
        key = Key(cluster.metadata.namespace, cluster.metadata.label(labels.ORIGIN_NAME))
        service = self._caches.services.get(key)
        return service.metadata.annotation(annotation) if service is not None else ""

    def replaced_by(self, cluster: RayCluster) -> str:
        """The cluster for which this one is stopped, because both can never fit and the policy is Recreate."""
        if self.policy(cluster) != RECREATE or not is_promoted(cluster):
            return ""
        for other in siblings(self._caches, cluster):
            if other.deleting or is_promoted(other):
                continue
            if self._never_fit_together(cluster, other):
                return other.metadata.name
        return ""

    def _never_fit_together(self, one: RayCluster, other: RayCluster) -> bool:
        """Told by what both ask for, not by what they hold: stopping the first must not change the answer.

        A cluster that can never fit alone either is no reason to stop another.
        """
        queue = other.metadata.label(labels.QUEUE_NAME) or next(
            (
                each.spec.queue_name
                for each in self._caches.workloads.find(BY_CLUSTER, str(other.key))
                if each.metadata.label(labels.CLUSTER_UID) == other.metadata.uid
            ),
            "",
        )
        first, second = _asked(one, one.metadata.label(labels.QUEUE_NAME) or queue), _asked(other, queue)
        if first is None or second is None:
            return False
        ledger = self._fresh()
        return not (ledger.never_fits_alone(second) or ledger.fit_together(first, second))

    def _policy_note(self, cluster: RayCluster) -> str:
        policy = self.policy(cluster)
        if policy == INCREMENTAL:
            return f"{labels.QUOTA_POLICY}={INCREMENTAL} comes with incremental upgrades; the upgrade waits"
        if policy not in _POLICIES:
            return f"{labels.QUOTA_POLICY} is {policy}, and not one of {', '.join(_POLICIES)}; the upgrade waits"
        name = f"-n {cluster.metadata.namespace} {cluster.metadata.label(labels.ORIGIN_NAME)}"
        return (
            "Lower what the new release asks for, raise the quota, or have the old release stopped first: "
            f"kubectl annotate rayservice {name} {labels.QUOTA_POLICY}={RECREATE}"
        )

    def _fresh(self, needed: str = "") -> Ledger:
        now = self._clock.now()
        known = self._ledger
        if known is not None and now - self._made_at < _OLD_SECONDS and (not needed or needed in known.workloads):
            return known
        caches = self._caches
        objects = Objects(
            flavors=caches.flavors,
            cohorts=caches.cohorts,
            cluster_queues=caches.cluster_queues,
            local_queues=caches.local_queues,
            workloads=caches.workloads,
            pod_defaults=(*caches.limit_ranges, *caches.runtime_classes),
            namespaces={one.metadata.name: one.metadata.labels or {} for one in caches.namespaces},
        )
        self._ledger, self._made_at = Ledger(objects, self._clock.utc().timestamp()), now
        return self._ledger


def overdue(waiting: Workload, timeout: timedelta, now: datetime) -> str:
    """Why an upgrade has waited too long; empty where it has not. An eviction begins another wait."""
    asked = waiting.condition(names.QUOTA_RESERVED)
    since = (asked.last_transition_time if asked is not None else None) or waiting.metadata.creation_timestamp
    if not since or now - parse_time(since) < timeout:
        return ""
    return f"The upgrade has waited for quota since {since}, longer than {labels.QUEUE_TIMEOUT} allows; it is given up"


def _asked(cluster: RayCluster, queue: str) -> Workload | None:
    """What a cluster asks a queue for; None where its spec cannot be counted, which its own condition says."""
    demand, _ = counted(cluster)
    if demand is None:
        return None
    sets = [(one.name, one.count, one.spec) for one in demand.sets]
    return proposed("RayCluster", cluster.metadata.namespace, cluster.metadata.name, queue, sets)
