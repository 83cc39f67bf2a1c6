"""A world in which decisions about a service are carried out: clusters come up, applications run or fail."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rayward.operator.service.decide import decide
from rayward.operator.service.member import DEPLOY_FAILED, RUNNING, Application, Member, ServeSeen
from rayward.operator.service.situation import Decision, Failure, Note, Release, Rules, Situation

START = datetime(2026, 1, 1, tzinfo=UTC)
A = Release("cluster-a", "config-1")
B = Release("cluster-b", "config-1")
C = Release("cluster-c", "config-1")


@dataclass
class World:
    """What is, and what happened on the way."""

    goal: Release | None
    rules: Rules = field(default_factory=Rules)
    now: datetime = START
    members: dict[str, Member] = field(default_factory=dict[str, Member])
    serving: str = ""
    failure: Failure | None = None
    broken: set[str] = field(default_factory=set[str])
    """Configs whose applications fail to deploy."""
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

    def situation(self) -> Situation:
        return Situation(self.goal, self.rules, tuple(self.members.values()), self.serving, self.failure)

    def step(self, *, seconds: float = 1) -> Decision:
        """Decide once, carry it out, let the clusters come along."""
        decision = decide(self.situation(), self.now)
        assert decision.next_look is None or decision.next_look >= self.now, "a look that is over comes again and again"
        self.carry_out(decision)
        self.now += timedelta(seconds=seconds)
        self.members = {name: self._grown(member) for name, member in self.members.items()}
        return decision

    def settle(self, steps: int = 60, *, seconds: float = 1) -> Decision:
        """Steps until nothing is left to do but wait."""
        decision = self.step(seconds=seconds)
        for _ in range(steps):
            decision = self.step(seconds=seconds)
        return decision

    def carry_out(self, decision: Decision) -> None:
        for note in decision.notes:
            self.members[note.member] = noted(self.members[note.member], note, self.now)
        if decision.create:
            self.made += 1
            name = f"c{self.made}"
            self.members[name] = Member(
                name, decision.create.cluster_hash, decision.create.config,
                created=self.now, released=self.now, heals=decision.heals, applications=frozenset({"app"}),
            )  # fmt: skip
        for name in [member.name for member in (decision.active, decision.pending) if member]:
            member = self.members[name]
            if member.serve is None or member.serve.config == member.config:
                continue
            self.sent.append((member.cluster_hash, member.config))
            status = DEPLOY_FAILED if member.config in self.broken else "DEPLOYING"
            serve = ServeSeen(member.config, (Application("app", status, "no such module"),))
            self.members[name] = dataclasses.replace(member, serve=serve)
        if decision.switch_to:
            self.serving = decision.switch_to
            self.switches.append(decision.switch_to)
        for name in decision.delete:
            assert name != self.serving, "the cluster that serves must never be deleted"
            del self.members[name]
        self.failure = decision.failure

    def _grown(self, member: Member) -> Member:
        if member.suspended or member.cluster_hash in self.stuck:
            return member
        if not member.head_ready:
            return dataclasses.replace(member, head_ready=True, ready_pods=1, serve=ServeSeen(""))
        if member.serve and any(app.status == "DEPLOYING" for app in member.serve.applications):
            serve = ServeSeen(member.serve.config, (Application("app", RUNNING),))
            return dataclasses.replace(member, serve=serve, endpoints=1)
        return member


def noted(member: Member, note: Note, now: datetime) -> Member:
    """A member with what a note says remembered."""
    changes: dict[str, object] = {}
    if note.config is not None:
        changes |= {"config": note.config, "progressed_at": now}
    if note.good_config is not None:
        changes["good_config"] = note.good_config
    if note.promoted:
        changes["promoted"] = True
    if note.delete_at is not None:
        changes["delete_at"] = note.delete_at
    if note.keep:
        changes["delete_at"] = None
    if note.progress is not None:
        changes |= {"progress": note.progress, "progressed_at": now}
    if note.unhealthy_since is not None:
        changes["unhealthy_since"] = note.unhealthy_since
    if note.healthy:
        changes["unhealthy_since"] = None
    if note.heals is not None:
        changes["heals"] = note.heals
    return dataclasses.replace(member, **changes)  # pyright: ignore[reportArgumentType]


def serving(release: Release = A, rules: Rules | None = None) -> World:
    """One whose first release serves."""
    world = World(release, rules or Rules())
    world.settle()
    assert world.serving == "c1"
    return world
