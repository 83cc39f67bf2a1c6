"""All heads at once, in virtual time, with simulated Ray behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from rayward.kube.core.objects import Key
from rayward.operator.ray.observation import UNSEEN, Deploy, Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import Answer, Ask, Place
from rayward.operator.ray.schedule import Pace
from rayward.operator.ray.serve import ServeProbe
from tests.operator.ray.behaviour import TIMINGS, Behaviour, Timings
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach
from tests.operator.ray.test_serve import deploy, is_reached
from tests.runtime.virtual import VirtualClock, run

CLOCK = VirtualClock()
_SLOW = Timings(serve_start=60.0)


class Counting(SimulatedReach):
    """Knows how many requests were under way at most, and when each began."""

    def __init__(self) -> None:
        super().__init__(CLOCK)
        self.now = self.most = 0
        self.times: list[tuple[str, float]] = []

    async def ask(self, place: Place, ask: Ask) -> Answer:
        if ask.path == "/api/version":
            self.times.append((place.name, round(CLOCK.now(), 3)))
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await super().ask(place, ask)
        finally:
            self.now -= 1


class World:
    """Heads and the poller that watches them."""

    def __init__(self, *, at_once: int = 64) -> None:
        self.reach = Counting()
        self.woken: list[Key] = []
        self.poller = Poller(
            ServeProbe(self.reach), self.woken.append, at_once=at_once, clock=CLOCK, chance=lambda: 0.5
        )

    def head(self, name: str = "one", **more: Any) -> SimulatedHead:
        head = SimulatedHead(CLOCK.now, name=name, **more)
        self.reach.add(head)
        return head

    def target(self, name: str = "one", **more: Any) -> Target:
        return Target(self.reach.add(self.reach.heads[name]), **more)

    def follow(self, name: str = "one", **more: Any) -> Observation:
        return self.poller.follow(Key("default", name), self.target(name, **more))

    def latest(self, name: str = "one") -> Observation:
        return self.poller.latest(Key("default", name))

    def looks(self, name: str = "one") -> list[float]:
        return [at for looked, at in self.reach.times if looked == name]


def playing(play: Callable[[World], Awaitable[None]], **more: Any) -> None:
    async def whole() -> None:
        world = World(**more)
        running = asyncio.create_task(world.poller.run())
        try:
            await play(world)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    run(whole())


def gaps(times: list[float]) -> set[float]:
    return {round(later - earlier, 1) for earlier, later in pairwise(times)}


def test_a_head_that_rests_is_looked_at_seldom() -> None:
    async def play(world: World) -> None:
        world.head()
        assert world.follow() == UNSEEN
        await asyncio.sleep(100)
        assert gaps(world.looks()) == {10.0}
        assert is_reached(world.latest())

    playing(play)


def test_during_an_upgrade_a_head_is_looked_at_twice_a_second_and_at_once() -> None:
    async def play(world: World) -> None:
        world.head()
        world.follow()
        await asyncio.sleep(15)
        seen = len(world.looks())
        world.follow(pace=Pace.UPGRADING)
        await asyncio.sleep(5)
        during = world.looks()[seen:]
        assert during[0] == 15.0
        assert gaps(during) == {0.5}
        world.follow(pace=Pace.IDLE)
        await asyncio.sleep(50)
        assert gaps(world.looks()[-4:]) == {10.0}

    playing(play)


def test_somebody_is_woken_only_when_something_changed() -> None:
    async def play(world: World) -> None:
        world.head(behaviours={"m:a": Behaviour(build_seconds=4.0)})
        world.follow(deploy=deploy("k", "a"))
        states: list[str] = []
        for _ in range(60):
            before = len(world.woken)
            await asyncio.sleep(1)
            if len(world.woken) > before:
                serve = world.latest().serve
                assert serve is not None
                states.append(serve.applications["a"].status)
        assert set(world.woken) == {Key("default", "one")}
        assert states[0] == "DEPLOYING"
        assert states[-1] == "RUNNING"
        looked, woken = len(world.looks()), len(world.woken)
        assert woken < looked
        await asyncio.sleep(100)
        assert (len(world.woken), len(world.looks()) - looked) == (woken, 10)

    playing(play)


def test_a_head_that_fails_by_itself_is_noticed_while_nobody_waits() -> None:
    async def play(world: World) -> None:
        world.head(behaviours={"m:a": Behaviour(sick_after=30.0)})
        world.follow(deploy=deploy("k", "a"))
        await asyncio.sleep(25)
        woken = len(world.woken)
        await asyncio.sleep(60)
        assert len(world.woken) > woken

    playing(play)


def test_a_head_that_does_not_answer_is_asked_more_and_more_seldom_and_found_again() -> None:
    async def play(world: World) -> None:
        head = world.head()
        head.down = True
        world.follow(pace=Pace.UPGRADING)
        await asyncio.sleep(60)
        times = world.looks()
        assert max(gaps(times)) == 5.0
        assert len(times) < 20
        assert len(world.woken) == 1
        head.down = False
        await asyncio.sleep(6)
        assert is_reached(world.latest())
        assert len(world.woken) == 2
        assert gaps(world.looks()[-3:]) == {0.5}

    playing(play)


def test_a_slow_head_keeps_nobody_else_waiting() -> None:
    async def play(world: World) -> None:
        world.head("slow", timings=_SLOW)
        world.head("fast")
        world.follow("slow", deploy=deploy("k", "a"))
        world.follow("fast", pace=Pace.UPGRADING)
        await asyncio.sleep(10)
        assert gaps(world.looks("fast")) == {0.5}
        assert len(world.looks("slow")) == 1

    playing(play)


def test_only_so_many_heads_are_asked_at_once() -> None:
    async def play(world: World) -> None:
        for number in range(300):
            world.head(str(number))
            world.follow(str(number))
        await asyncio.sleep(60)
        assert world.reach.most == 8 * 2, "two questions at once"
        assert all(is_reached(world.latest(str(number))) for number in range(300))
        assert all(gaps(world.looks(str(number))) <= {10.0, 10.1, 9.9} for number in range(300))

    playing(play, at_once=8)


def test_a_dropped_head_is_not_asked_again_and_wakes_nobody() -> None:
    async def play(world: World) -> None:
        world.head()
        world.follow(pace=Pace.UPGRADING)
        await asyncio.sleep(2)
        woken, looked = len(world.woken), len(world.looks())
        world.poller.drop(Key("default", "one"))
        await asyncio.sleep(60)
        assert (len(world.woken), len(world.looks())) == (woken, looked)
        assert world.latest() == UNSEEN
        assert Key("default", "one") not in world.poller

    playing(play)


def test_what_a_look_finds_after_its_head_was_dropped_does_not_count() -> None:
    async def play(world: World) -> None:
        world.head(timings=_SLOW)
        world.follow(deploy=deploy("k", "a"))
        await asyncio.sleep(5)
        world.poller.drop(Key("default", "one"))
        await asyncio.sleep(100)
        assert (world.latest(), world.woken) == (UNSEEN, [])

    playing(play)


def test_a_new_head_pod_begins_with_nothing_seen() -> None:
    async def play(world: World) -> None:
        head = world.head()
        world.follow(head="uid-1", deploy=deploy("k", "a"))
        await asyncio.sleep(10)
        assert world.latest().deployed == "k"
        head.restart()
        assert world.follow(head="uid-2", deploy=deploy("k", "a")) == UNSEEN
        await asyncio.sleep(10)
        assert world.latest().session == head.session
        assert len(head.puts) == 2

    playing(play)


def test_a_new_head_does_not_wait_for_the_answer_of_the_old_one() -> None:
    async def play(world: World) -> None:
        world.head("one", timings=_SLOW)
        two = world.head("two")
        key = Key("default", "one")
        world.poller.follow(key, world.target("one", head="uid-1", deploy=deploy("k", "a")))
        await asyncio.sleep(5)
        world.poller.follow(key, world.target("two", head="uid-2", deploy=deploy("k", "a")))
        await asyncio.sleep(5)
        assert world.poller.latest(key).session == two.session
        assert len(two.puts) == 1

    playing(play)


def test_a_head_that_is_dropped_and_followed_again_in_the_middle_of_a_look_is_looked_at_anew() -> None:
    async def play(world: World) -> None:
        head = world.head(timings=_SLOW)
        world.follow(deploy=deploy("k", "a"))
        await asyncio.sleep(5)
        world.poller.drop(Key("default", "one"))
        assert world.follow() == UNSEEN
        await asyncio.sleep(5)
        assert world.latest().session == head.session

    playing(play)


def test_a_session_belongs_to_one_head_only() -> None:
    async def play(world: World) -> None:
        first = world.head("one")
        world.head("two")
        world.follow("one")
        await asyncio.sleep(1)
        world.reach.heads["two"] = first
        world.follow("two", deploy=deploy("k", "a"))
        await asyncio.sleep(1)
        failure = world.latest("two").failure
        assert failure is not None
        assert failure.reason == "WrongSession"
        assert first.puts == []
        world.poller.drop(Key("default", "one"))
        await asyncio.sleep(60)
        assert is_reached(world.latest("two"))

    playing(play)


def test_a_head_that_was_dropped_in_the_middle_of_a_look_leaves_its_session_to_others() -> None:
    async def play(world: World) -> None:
        first = world.head("one")
        world.head("two")
        world.follow("one")
        await asyncio.sleep(first_answer / 2)
        world.poller.drop(Key("default", "one"))
        await asyncio.sleep(1)
        world.reach.heads["two"] = first
        world.follow("two")
        await asyncio.sleep(1)
        assert is_reached(world.latest("two"))

    first_answer = TIMINGS.get
    playing(play)


def test_a_target_never_shows_its_token_or_configuration() -> None:
    world_target = Target(Counting().add(SimulatedHead(lambda: 0.0)), token="secret", deploy=Deploy("k", b"secret"))
    assert "secret" not in repr(world_target)
    assert "secret" not in repr(replace(world_target, head="uid"))
