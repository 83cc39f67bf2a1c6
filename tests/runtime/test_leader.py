from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.kube.client.api import Client
from rayward.kube.core.lease import Lease, LeaseSpec
from rayward.kube.runtime.leader import Elector, LeadershipLost, Seen, Terms, bid, holds, observe, release
from tests.runtime.leases import Leases, Line
from tests.runtime.virtual import EPOCH, VirtualClock, run

TERMS = Terms("a", "operator", "me")
NOW = "2026-01-01T00:00:00.000000Z"
THEN = "2025-12-31T23:00:00.000000Z"


def seen(holder: str | None, at: float, seconds: int = 15, transitions: int = 3) -> Seen:
    return Seen(Lease(spec=LeaseSpec(holder, seconds, THEN, THEN, transitions)), at)


@pytest.mark.parametrize(
    ("known", "now", "written"),
    [
        pytest.param(None, 0.0, LeaseSpec("me", 15, NOW, NOW, 0), id="no lease: make it"),
        pytest.param(seen("you", 0.0), 14.9, None, id="held by another: wait"),
        pytest.param(seen("you", 0.0), 15.0, LeaseSpec("me", 15, NOW, NOW, 4), id="run out: take it"),
        pytest.param(seen("you", 0.0, seconds=1), 1.0, LeaseSpec("me", 15, NOW, NOW, 4), id="by its own duration"),
        pytest.param(seen("", 0.0), 0.0, LeaseSpec("me", 15, NOW, NOW, 4), id="released: take it at once"),
        pytest.param(seen(None, 0.0), 0.0, LeaseSpec("me", 15, NOW, NOW, 4), id="never held"),
        pytest.param(seen("me", 0.0), 5.0, LeaseSpec("me", 15, THEN, NOW, 3), id="ours: renew it"),
        pytest.param(seen("me", 0.0), 99.0, LeaseSpec("me", 15, THEN, NOW, 3), id="ours, run out, nobody took it"),
    ],
)
def test_what_to_write(known: Seen | None, now: float, written: LeaseSpec | None) -> None:
    assert bid(TERMS, known, now, EPOCH) == written


@pytest.mark.parametrize(
    ("known", "now", "leading"),
    [(None, 0.0, False), (seen("me", 0.0), 14.9, True), (seen("me", 0.0), 15.0, False), (seen("you", 0.0), 0.0, False)],
    ids=["none", "ours", "ours, run out", "another's"],
)
def test_who_leads(known: Seen | None, now: float, leading: bool) -> None:
    assert holds(TERMS, known, now) is leading


def test_time_counts_from_when_we_saw_the_last_change() -> None:
    first = observe(None, seen("you", 0.0).lease, 10.0)
    assert first.at == 10.0
    assert observe(first, first.lease, 20.0).at == 10.0
    renewed = msgspec.structs.replace(first.lease, spec=LeaseSpec("you", 15, THEN, NOW, 3))
    assert observe(first, renewed, 20.0).at == 20.0


def test_letting_go_keeps_the_count() -> None:
    assert release(seen("me", 0.0), EPOCH + timedelta(0)) == LeaseSpec("", 1, NOW, NOW, 3)


class Contender:
    """One process that wants to lead, and a record of when it did."""

    def __init__(self, leases: Leases, name: str, ledger: list[tuple[float, str, bool]], chance: float = 0.5) -> None:
        self.line = Line(leases)
        self.name = name
        self.ledger = ledger
        self.elector = Elector(
            Client(self.line), Terms("a", "operator", name), clock=VirtualClock(), chance=lambda: chance
        )
        self.task = asyncio.ensure_future(self.elector.run(self._lead))

    async def _lead(self) -> None:
        now = asyncio.get_running_loop().time
        self.ledger.append((now(), self.name, True))
        try:
            await asyncio.sleep(1e9)
        finally:
            self.ledger.append((now(), self.name, False))

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def overlaps(ledger: list[tuple[float, str, bool]]) -> bool:
    leading: set[str] = set()
    for _, name, begins in ledger:
        if begins:
            leading.add(name)
        else:
            leading.discard(name)
        if len(leading) > 1:
            return True
    return False


def test_one_of_several_leads_and_the_next_follows_at_once_when_it_stops() -> None:
    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        contenders = [Contender(leases, name, ledger, chance) for name, chance in (("x", 0.1), ("y", 0.5), ("z", 0.9))]
        await asyncio.sleep(60)
        assert len(ledger) == 1
        leader = next(contender for contender in contenders if contender.elector.leading)
        assert [contender.elector.holder for contender in contenders] == [leader.name] * 3
        stopped_at = asyncio.get_running_loop().time()
        await leader.stop()
        assert leases.holder == ""
        await asyncio.sleep(5)
        started_at, _, begins = ledger[-1]
        assert begins
        assert started_at - stopped_at < 4.5, "nobody waited for the lease to run out"
        assert leases.lease is not None
        assert leases.lease["spec"]["leaseTransitions"] == 1
        for contender in contenders:
            await contender.stop()
        assert not overlaps(ledger)

    run(scenario())


def test_the_leader_writes_without_reading() -> None:
    async def scenario() -> None:
        leases = Leases()
        contender = Contender(leases, "x", [])
        await asyncio.sleep(100)
        assert len(leases.writes) - 1 <= contender.line.requests - 2 <= len(leases.writes)
        await contender.stop()

    run(scenario())


def test_a_leader_that_is_cut_off_stops_before_another_begins() -> None:
    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        first = Contender(leases, "x", ledger)
        await asyncio.sleep(1)
        second = Contender(leases, "y", ledger)
        await asyncio.sleep(10)
        first.line.cut = True
        await asyncio.sleep(60)
        assert [(name, begins) for _, name, begins in ledger] == [("x", True), ("x", False), ("y", True)]
        with pytest.raises(LeadershipLost):
            await first.task
        assert leases.holder == "y"
        await second.stop()

    run(scenario())


def test_a_server_that_hangs_costs_the_leadership_in_time() -> None:
    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        first = Contender(leases, "x", ledger)
        await asyncio.sleep(1)
        first.line.latency = 1e6
        await asyncio.sleep(15)
        assert [begins for _, _, begins in ledger] == [True, False]
        with pytest.raises(LeadershipLost):
            await first.task

    run(scenario())


def test_a_slow_answer_counts_from_when_it_was_asked_for() -> None:
    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        slow = Contender(leases, "slow", ledger)
        await asyncio.sleep(1)
        others: list[Contender] = []
        for name in "abcd":
            others.append(Contender(leases, name, ledger, chance=0.0))
            await asyncio.sleep(0.5)
        slow.line.back = 7.0
        await asyncio.sleep(3)
        slow.line.cut = True
        await asyncio.sleep(60)
        assert not overlaps(ledger)
        assert leases.holder in "abcd"
        with pytest.raises(LeadershipLost):
            await slow.task
        for other in others:
            await other.stop()

    run(scenario())


def test_lost_answers_do_not_cost_the_leadership() -> None:
    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        contender = Contender(leases, "x", ledger)
        await asyncio.sleep(1)
        contender.line.lose_answers = True
        await asyncio.sleep(7)
        contender.line.lose_answers = False
        await asyncio.sleep(60)
        assert [begins for _, _, begins in ledger] == [True]
        await contender.stop()

    run(scenario())


def test_work_that_ends_by_itself_releases_the_lease() -> None:
    async def scenario() -> None:
        leases = Leases()
        changes: list[bool] = []
        elector = Elector(Client(Line(leases)), TERMS, clock=VirtualClock(), changed=changes.append)

        async def lead() -> None:
            await asyncio.sleep(3)

        await elector.run(lead)
        assert leases.holder == ""
        assert changes == [True, False]

    run(scenario())


def test_a_failure_of_the_work_is_raised_after_the_release() -> None:
    async def scenario() -> None:
        leases = Leases()
        elector = Elector(Client(Line(leases)), TERMS, clock=VirtualClock())

        async def lead() -> None:
            raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            await elector.run(lead)
        assert leases.holder == ""

    run(scenario())


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_never_two_at_once_whatever_the_network_does(seed: int) -> None:
    chance = random.Random(seed)

    async def scenario() -> None:
        leases, ledger = Leases(), list[tuple[float, str, bool]]()
        contenders = [Contender(leases, name, ledger, chance.random()) for name in "wxyz"]
        for _ in range(30):
            await asyncio.sleep(chance.uniform(0, 8))
            victim = chance.choice(contenders)
            match chance.randrange(5):
                case 0:
                    victim.line.cut = not victim.line.cut
                case 1:
                    victim.line.lose_answers = not victim.line.lose_answers
                case 2:
                    victim.line.latency = chance.choice([0.01, 0.5, 2.0, 4.9])
                case 3:
                    await victim.stop()
                case _:
                    pass
            if victim.task.done():
                if not victim.task.cancelled():
                    assert isinstance(victim.task.exception(), LeadershipLost)
                contenders[contenders.index(victim)] = Contender(leases, victim.name, ledger, chance.random())
        for contender in contenders:
            contender.line.cut = contender.line.lose_answers = False
            contender.line.latency = 0.01
        await asyncio.sleep(60)
        assert not overlaps(ledger)
        assert leases.holder != "", "in the end somebody leads"
        for contender in contenders:
            await contender.stop()
            if not contender.task.cancelled():
                contender.task.exception()

    run(scenario())


@pytest.mark.parametrize("cut_after", [0.1, 1.0, 1.9, 2.1, 3.7])
def test_a_leader_gives_up_no_later_than_its_deadline(cut_after: float) -> None:
    async def play() -> None:
        leases = Leases()
        ledger: list[tuple[float, str, bool]] = []
        contender = Contender(leases, "a", ledger)
        await asyncio.sleep(1 + cut_after)
        assert ledger
        renewed = leases.writes[-1][0]
        contender.line.cut = True
        await asyncio.wait([contender.task])
        assert ledger[-1][0] <= renewed + TERMS.renew_seconds
        contender.task.exception()

    run(play())
