"""What tools conclude from a status: kstatus, ``kubectl wait`` and Argo CD's health, in every state of an upgrade."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec
import pytest

from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition
from rayward.operator.service import suspension
from rayward.operator.service.conditions import Conditions, Facts, conditions, failure_of, observed_generation
from rayward.operator.service.state import UNHEALTHY, Application, Failure, Healing, Policy, Release, ServeState
from tests.operator.service import verdicts
from tests.operator.service.world import A, B, C, World

Object = dict[str, Any]

_REJECTED: Final = Failure("ValidationFailed", "spec.serveConfigV2: line 3")


class Service:
    """A world, and the status that is written of it."""

    def __init__(self, goal: Release = A, policy: Policy | None = None) -> None:
        self.world = World(goal, policy or Policy())
        self.generation = 1
        self.observed = 0
        self.conditions: Conditions = ()
        self.denied = ""
        self.moving = ""

    def edit(self, goal: Release | None, steps: int = 0) -> Service:
        self.generation += 1
        self.world.goal = goal
        return self.run(steps)

    def run(self, steps: int) -> Service:
        world = self.world
        for _ in range(steps):
            world.failure = failure_of(self.conditions, self.generation)
            endpoints = int(bool(world.serving))
            decision = world.step()
            if decision.switch_to:
                # Of a switch the next reconcile reports.
                continue
            rejected = _REJECTED if world.goal is None else None
            facts = Facts(
                self.generation,
                endpoints,
                decision,
                rejected=rejected,
                denied=self.denied,
                observed=self.observed,
                moving=self.moving,
            )
            self.conditions = conditions(self.conditions, facts, world.now)
            self.observed = observed_generation(facts)
        return self

    def suspend(self, left: int, *, rejected: bool = False) -> Service:
        why = _REJECTED if rejected else None
        found = suspension.decide(self.conditions, True, left, self.generation, self.world.now, why)
        assert found is not None
        self.conditions = found.conditions
        self.observed = self.observed if found.in_progress else self.generation
        return self

    def written(self) -> Object:
        """The object as tools read it."""
        metadata: Object = {"generation": self.generation}
        if not self.conditions:
            return {"metadata": metadata}
        conditions = msgspec.to_builtins(self.conditions)
        return {"metadata": metadata, "status": {"conditions": conditions, "observedGeneration": self.observed}}


def _serving(policy: Policy | None = None) -> Service:
    return Service(policy=policy).run(30)


def _unhealthy() -> Service:
    found = _serving(Policy(healing=Healing(timedelta(seconds=2), new_clusters=0)))
    for _ in range(20):
        active = found.world.clusters[found.world.serving]
        serve = ServeState(active.config, (Application("app", UNHEALTHY),))
        found.world.clusters[active.name] = dataclasses.replace(active, serve=serve)
        found.run(1)
    return found


def _failing(goal: Release) -> Service:
    found = _serving()
    found.world.broken = {"bad"}
    return found.edit(goal, 20)


def _denied() -> Service:
    found = _serving()
    found.denied = "exceeded quota"
    found.world.stuck = {"cluster-b"}
    return found.edit(B, 3)


def _moving() -> Service:
    """The selector leads to the new release, and the endpoints are still the former one's."""
    found = _serving(Policy(deletion_delay=timedelta(hours=1)))
    found.moving = "Service svc-serve-svc still leads to pods of RayCluster c1"
    return found.edit(B, 15)


def _moved() -> Service:
    found = _moving()
    found.moving = ""
    return found.run(1)


def _moves_later() -> Service:
    """An endpoint of a former release that comes back takes back nothing that was true."""
    found = _moved()
    found.moving = "Service svc-serve-svc still leads to pods of RayCluster c1"
    return found.run(1)


def _stuck(policy: Policy, steps: int) -> Service:
    found = _serving(policy)
    found.world.stuck = {"cluster-b"}
    return found.edit(B, steps)


def _aborted() -> Service:
    found = _stuck(Policy(), 4)
    found.world.policy = Policy(abort="true")
    return found.run(4)


def _queued(found: Service, steps: int = 1) -> Service:
    """The newest cluster waits for quota."""
    newest = list(found.world.clusters)[-1]
    waits = Condition(type="QuotaReserved", status="False", reason="Pending", message="Needs cpu 1")
    closed = dataclasses.replace(found.world.clusters[newest], quota=waits, suspended=True, released=None)
    found.world.clusters[newest] = closed
    return found.run(steps)


def _admitted(found: Service) -> Service:
    newest = list(found.world.clusters)[-1]
    opened = dataclasses.replace(found.world.clusters[newest], quota=None, suspended=False, released=found.world.now)
    found.world.clusters[newest] = opened
    return found.run(20)


def _resumed(steps: int) -> Service:
    """Its clusters were deleted meanwhile."""
    found = _serving().edit(A).suspend(3).suspend(0)
    found.world.clusters, found.world.serving = {}, ""
    return found.edit(A, steps)


def _rolling(steps: int) -> Service:
    """The workers of the cluster that serves are replaced one by one."""
    return _serving(Policy(in_place_only=True, rolls_workers=True)).edit(B, steps)


def _healing() -> Service:
    """An application turned unhealthy after its edit was done: a cluster is made to replace the one that serves."""
    found = _serving(Policy(healing=Healing(timedelta(seconds=2), new_clusters=1)))
    for _ in range(20):
        if len(found.world.clusters) > 1:
            return found.run(1)
        active = found.world.clusters[found.world.serving]
        serve = ServeState(active.config, (Application("app", UNHEALTHY),))
        found.world.clusters[active.name] = dataclasses.replace(active, serve=serve)
        found.run(1)
    raise AssertionError("no cluster was made")


def _restarted(found: Service) -> Service:
    """An operator that has not asked any dashboard yet."""
    serving = found.world.clusters[found.world.serving]
    found.world.clusters[serving.name] = dataclasses.replace(serving, serve=None)
    return found.run(1)


_STATES: Final[dict[str, tuple[Callable[[], Service], str, bool]]] = {
    "the first cluster is created": (lambda: Service().run(1), "InProgress", False),
    "the first cluster comes up": (lambda: Service().run(3), "InProgress", False),
    "the first release serves": (_serving, "Current", True),
    "an edit that the operator has not seen": (lambda: _serving().edit(B), "InProgress", False),
    "the new cluster is created": (lambda: _serving().edit(B, 1), "InProgress", False),
    "the new cluster comes up": (lambda: _serving().edit(B, 3), "InProgress", False),
    "the upgrade is paused": (lambda: _serving(Policy(paused=True, promote="c1")).edit(B, 20), "InProgress", False),
    "the new release has the traffic, the old cluster stays a while": (
        lambda: _serving(Policy(deletion_delay=timedelta(hours=1))).edit(B, 15), "Current", True,
    ),
    "the endpoints have not followed": (_moving, "InProgress", False),
    "the endpoints have followed": (_moved, "Current", True),
    "the endpoints change later": (_moves_later, "Current", True),
    "the old cluster is deleted": (lambda: _serving().edit(B, 90), "Current", True),
    "writes are denied": (_denied, "InProgress", False),
    "another config is sent": (lambda: _serving().edit(Release("cluster-a", "config-2"), 1), "InProgress", False),
    "another config runs": (lambda: _serving().edit(Release("cluster-a", "config-2"), 10), "Current", True),
    "a config failed in place": (lambda: _failing(Release("cluster-a", "bad")), "Failed", False),
    "a release failed to deploy": (lambda: _failing(Release("cluster-b", "bad")), "Failed", False),
    "a release that failed, corrected": (lambda: _failing(Release("cluster-b", "bad")).edit(B, 30), "Current", True),
    "a release that failed, reverted": (lambda: _failing(Release("cluster-b", "bad")).edit(A, 5), "Current", True),
    "a release met its deadline": (
        lambda: _stuck(Policy(progress_deadline=timedelta(seconds=5)), 20), "Failed", False,
    ),
    "a release was aborted": (_aborted, "Failed", False),
    "the spec is rejected": (lambda: _serving().edit(None, 3), "Failed", False),
    "the spec was rejected and is corrected": (lambda: _serving().edit(None, 3).edit(A, 3), "Current", True),
    "the first spec is rejected": (lambda: Service(goal=A).edit(None, 3), "Failed", False),
    "the strategy keeps the cluster": (lambda: _serving(Policy(in_place_only=True)).edit(B, 10), "Failed", False),
    "self-healing is exhausted": (_unhealthy, "Failed", True),
    "the operator restarted": (lambda: _restarted(_serving()), "Current", True),
    "the operator restarted, and the strategy keeps the cluster": (
        lambda: _restarted(_serving(Policy(in_place_only=True)).edit(B, 10)), "Failed", False,
    ),
    "the first cluster waits for quota": (lambda: _queued(Service().run(1)), "InProgress", False),
    "the first cluster gets its quota": (lambda: _admitted(_queued(Service().run(1))), "Current", True),
    "the new cluster waits for quota": (lambda: _queued(_serving().edit(B, 1), 50), "InProgress", False),
    "the new cluster loses its quota": (lambda: _queued(_serving().edit(B, 3), 50), "InProgress", False),
    "the new cluster gets its quota": (lambda: _admitted(_queued(_serving().edit(B, 1), 50)), "Current", True),
    "an upgrade that waits for quota is edited": (
        lambda: _queued(_queued(_serving().edit(B, 1)).edit(C, 1)), "InProgress", False,
    ),
    "an upgrade that waits for quota is reverted": (
        lambda: _queued(_serving().edit(B, 1), 5).edit(A, 5), "Current", True,
    ),
    "another edit while the new cluster comes up": (lambda: _serving().edit(B, 3).edit(C, 1), "InProgress", False),
    "another edit while the new cluster came up": (lambda: _serving().edit(B, 3).edit(C, 30), "Current", True),
    "an upgrade under way is reverted": (lambda: _serving().edit(B, 3).edit(A, 5), "Current", True),
    "an upgrade under way is rejected": (lambda: _serving().edit(B, 3).edit(None, 3), "Failed", False),
    "an upgrade under way is suspended": (lambda: _serving().edit(B, 3).suspend(3), "InProgress", False),
    "workers are replaced in place": (lambda: _rolling(1), "InProgress", False),
    "self-healing makes another cluster": (_healing, "InProgress", True),
    "the service is being suspended": (lambda: _serving().edit(A).suspend(3), "InProgress", False),
    "the service is resumed": (lambda: _resumed(1), "InProgress", False),
    "the service serves after a resume": (lambda: _resumed(30), "Current", True),
    "the service is suspended": (lambda: _serving().edit(A).suspend(3).suspend(0), "InProgress", False),
    "an edit of a suspended service is rejected": (
        lambda: _serving().edit(A).suspend(3).suspend(0).edit(None).suspend(0, rejected=True), "Failed", False,
    ),
    "a rejected edit of a suspended service is corrected": (
        lambda: _serving().edit(None).suspend(3).suspend(0, rejected=True).edit(A).suspend(0), "InProgress", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _STATES)
def test_tools_conclude_what_the_operator_knows(name: str) -> None:
    make, kstatus, waited_for = _STATES[name]
    found = make().written()
    assert (verdicts.kstatus(found), verdicts.waited_for(found)) == (kstatus, waited_for), found
    health, message = verdicts.argocd(found)
    assert (verdicts.ARGOCD[health], bool(message)) == (kstatus, True), (health, message)


def test_before_the_first_report_kstatus_alone_believes_too_early() -> None:
    unseen = Service().written()
    assert verdicts.kstatus(unseen) == "Current", "there is nothing to read: the page says so"
    assert not verdicts.waited_for(unseen)
    assert verdicts.argocd(unseen)[0] == "Progressing"


def test_what_is_being_deleted_is_terminating() -> None:
    found = _serving().written()
    found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert verdicts.kstatus(found) == "Terminating"


def test_argocd_shows_why_and_what_is_suspended() -> None:
    assert verdicts.argocd(_failing(Release("cluster-b", "bad")).written())[1].count("no such module") == 1
    assert verdicts.argocd(_denied().written()) == ("Progressing", "exceeded quota")
    assert verdicts.argocd(_serving().edit(A).suspend(3).suspend(0).written())[0] == "Suspended"


def test_a_stalled_service_says_why() -> None:
    stalled = condition_of(_failing(Release("cluster-b", "bad")).conditions, "Stalled")
    assert stalled is not None
    assert (stalled.reason, "no such module" in stalled.message) == ("ServeDeployFailed", True)


def test_a_service_that_reconciles_says_what_it_waits_for() -> None:
    reconciling = condition_of(_denied().conditions, "Reconciling")
    assert reconciling is not None
    assert (reconciling.reason, reconciling.message) == ("FailedWrite", "exceeded quota")
    reconciling = condition_of(_moving().conditions, "Reconciling")
    assert reconciling is not None
    assert (reconciling.reason, "still leads to pods of RayCluster c1" in reconciling.message) == (
        "EndpointsMoving",
        True,
    )
