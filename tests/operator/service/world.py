"""A world in which decisions about a service are carried out: clusters come up, applications run or fail."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rayward.kinds import labels
from rayward.kinds.effects import Effect, ReleaseChange
from rayward.operator.service.annotations import annotation_patch, read_annotations
from rayward.operator.service.decide import decide
from rayward.operator.service.state import (
    DEPLOY_FAILED,
    RUNNING,
    AnnotationChange,
    Application,
    ChildCluster,
    Decision,
    Failure,
    Policy,
    Release,
    ServeState,
    State,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
A = Release("cluster-a", "config-1")
B = Release("cluster-b", "config-1")
C = Release("cluster-c", "config-1")


@dataclass
class World:
    """What is, and what happened on the way."""

    goal: Release | None
    policy: Policy = field(default_factory=Policy)
    now: datetime = START
    clusters: dict[str, ChildCluster] = field(default_factory=dict[str, ChildCluster])
    serving: str = ""
    failure: Failure | None = None
    broken: set[str] = field(default_factory=set[str])
    """Configs whose applications fail to deploy."""
    starved: dict[str, str] = field(default_factory=dict[str, str])
    """Configs that leave no replica of the last one and start none, and why no node has room for it."""
    stuck: set[str] = field(default_factory=set[str])
    """Cluster hashes whose head never gets ready."""
    made: int = 0
    sent: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Each config that a cluster was sent, by the hash of the cluster's spec."""
    switches: list[str] = field(default_factory=list[str])

    def edit(self, goal: Release | None) -> None:
        """The user changes the spec: a new generation, on which nothing has failed yet."""
        self.goal = goal
        self.failure = None

    def state(self) -> State:
        clusters = tuple(self.clusters.values())
        return State(self.goal, self.policy, clusters, self.serving, self.failure, self._change())

    def _change(self) -> ReleaseChange | None:
        active = self.clusters.get(self.serving)
        if self.goal is None or active is None:
            return None
        other = Effect.NEXT_CLUSTER if self.policy.in_place_only else Effect.NEW_CLUSTER
        if self.policy.rolls_workers:
            other = Effect.ROLLING_WORKERS
        same = active.cluster_hash == self.goal.cluster_hash
        return ReleaseChange(Effect.IGNORED if same else other, self.goal.cluster_hash)

    def step(self, *, seconds: float = 1) -> Decision:
        """Decide once, carry it out, let the clusters come along."""
        decision = decide(self.state(), self.now)
        assert decision.requeue_at is None or decision.requeue_at >= self.now, (
            "a look that is over comes again and again"
        )
        self.carry_out(decision)
        self.now += timedelta(seconds=seconds)
        self.clusters = {name: self._grown(cluster) for name, cluster in self.clusters.items()}
        return decision

    def settle(self, steps: int = 60, *, seconds: float = 1) -> Decision:
        """Steps until nothing is left to do but wait."""
        decision = self.step(seconds=seconds)
        for _ in range(steps):
            decision = self.step(seconds=seconds)
        return decision

    def carry_out(self, decision: Decision) -> None:
        for change in decision.annotate:
            self.clusters[change.cluster] = annotated(self.clusters[change.cluster], change, self.now)
        if decision.create:
            self.made += 1
            name = f"c{self.made}"
            self.clusters[name] = ChildCluster(
                name, decision.create.cluster_hash, decision.create.config, created=self.now, released=self.now,
                remedies=decision.remedies, applications=frozenset({"app"}), code=decision.create.code,
            )  # fmt: skip
        for target in decision.serve_configs:
            cluster = self.clusters[target.cluster]
            if cluster.serve is None or (cluster.serve.config == target.config and not target.anew):
                continue
            self.sent.append((cluster.cluster_hash, target.config))
            deployed = target.key
            serve = self._deployed(target.config) if cluster.serve.config != target.config else cluster.serve
            self.clusters[target.cluster] = dataclasses.replace(cluster, serve=serve, deployed=deployed)
        for name in decision.refreshed:
            self.clusters[name] = dataclasses.replace(self.clusters[name], refreshed=self.policy.restarted_at)
        if decision.roll and self.goal is not None:
            rolled = {"cluster_hash": self.goal.cluster_hash, "rolling_since": self.now}
            self.clusters[decision.roll] = dataclasses.replace(self.clusters[decision.roll], **rolled)
        if decision.switch_to:
            self.serving = decision.switch_to
            self.switches.append(decision.switch_to)
        for name in decision.delete:
            assert name != self.serving, "the cluster that serves must never be deleted"
            del self.clusters[name]
        self.failure = decision.failure

    def _deployed(self, config: str) -> ServeState:
        status = DEPLOY_FAILED if config in self.broken else "DEPLOYING"
        starved = config in self.starved
        app = Application("app", status, "no such module", deserted=starved, unscheduled=self.starved.get(config, ""))
        return ServeState(config, (app,))

    def _grown(self, cluster: ChildCluster) -> ChildCluster:
        if cluster.suspended or cluster.cluster_hash in self.stuck:
            return cluster
        if not cluster.head_ready:
            return dataclasses.replace(cluster, head_ready=True, ready_pods=1, serve=ServeState(""))
        if cluster.serve and cluster.serve.config in self.starved:
            return cluster
        if cluster.serve and any(app.status == "DEPLOYING" for app in cluster.serve.applications):
            serve = ServeState(cluster.serve.config, (Application("app", RUNNING),))
            return dataclasses.replace(cluster, serve=serve, endpoints=1)
        return cluster


class _Itself(dict[str, str]):
    """Here a config is its own hash."""

    def __missing__(self, config: str) -> str:
        return config


def annotated(cluster: ChildCluster, change: AnnotationChange, now: datetime) -> ChildCluster:
    """A cluster with a change written to its annotations and read back."""
    before = AnnotationChange(
        cluster.name, config=cluster.config, good_config=cluster.good_config, promoted=cluster.promoted,
        delete_at=cluster.delete_at, progress=cluster.progress, unhealthy_since=cluster.unhealthy_since,
        deserted_since=cluster.deserted_since, remedies=cluster.remedies, started_in=cluster.started_in,
        surges=cluster.surges,
    )  # fmt: skip
    written = annotation_patch(before, _Itself(), cluster.progressed_at or now)
    if cluster.progressed_at is None:
        del written[labels.PROGRESSED_AT]
    written |= annotation_patch(change, _Itself(), now)
    found = read_annotations({name: value for name, value in written.items() if value is not None})
    return dataclasses.replace(
        cluster, config=found.config, good_config=found.good_config, promoted=found.promoted, delete_at=found.delete_at,
        progress=found.progress, progressed_at=found.progressed_at, unhealthy_since=found.unhealthy_since,
        deserted_since=found.deserted_since, remedies=found.remedies, started_in=found.started_in,
        surges=found.surges,
    )  # fmt: skip


def serving(release: Release = A, policy: Policy | None = None) -> World:
    """One whose first release serves."""
    world = World(release, policy or Policy())
    world.settle()
    assert world.serving == "c1"
    return world
