"""One look at a head, in virtual time, with simulated Ray behind it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rayward.operator.ray.observation import UNSEEN, Deploy, Observation, Target
from rayward.operator.ray.reach import Answer, Ask, Place
from rayward.operator.ray.serve import look
from tests.operator.ray.behaviour import Behaviour
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach
from tests.runtime.virtual import VirtualClock, run

CLOCK = VirtualClock()


def deploy(key: str, *paths: str, **more: Any) -> Deploy:
    apps = [{"name": path, "route_prefix": f"/{path}", "import_path": f"m:{path}"} for path in paths]
    return Deploy(key, orjson.dumps({"applications": apps}), **more)


class World:
    """A head and who looks at it."""

    def __init__(self, **head: Any) -> None:
        self.reach = SimulatedReach(CLOCK)
        self.head = SimulatedHead(CLOCK.now, **head)
        self.place = self.reach.add(self.head)

    async def look(self, before: Observation = UNSEEN, **target: Any) -> Observation:
        return await look(self.reach, Target(self.place, **target), before, lambda _: True)

    async def look_until(self, status: str, before: Observation, **target: Any) -> Observation:
        while not before.serve or {app.status for app in before.serve.applications.values()} != {status}:
            await CLOCK.sleep(0.5)
            before = await self.look(before, **target)
        return before


def is_reached(seen: Observation) -> bool:
    """Whether the last look went well."""
    return bool(seen.session) and seen.failure is None


def test_a_head_is_seen_with_its_session() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look()
        assert is_reached(seen)
        assert (seen.session, seen.ray_version, seen.deployed) == (world.head.session, "2.60.0", "")
        assert seen.serve is not None
        assert seen.serve.applications == {}

    run(play())


def test_nodes_are_told_by_the_names_of_their_pods() -> None:
    async def play() -> None:
        world = World(instance="demo-head-x")
        seen = await world.look_until("RUNNING", UNSEEN, deploy=deploy("one", "a"))
        assert seen.serve is not None
        assert [proxy.node_instance_id for proxy in seen.serve.proxies.values()] == ["demo-head-x"]
        (replica,) = seen.serve.applications["a"].deployments["Greeter"].replicas
        assert replica.node_instance_id == "demo-head-x"

    run(play())


def test_a_configuration_is_sent_once_and_then_watched() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look(deploy=deploy("one", "a"))
        assert seen.deployed == "one"
        seen = await world.look_until("RUNNING", seen, deploy=deploy("one", "a"))
        assert len(world.head.puts) == 1

    run(play())


def test_another_key_sends_again_even_the_same() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look(deploy=deploy("one", "a"))
        seen = await world.look(seen, deploy=deploy("two", "a"))
        assert seen.deployed == "two"
        assert len(world.head.puts) == 2

    run(play())


def test_an_operator_that_was_restarted_does_not_disturb_a_build() -> None:
    async def play() -> None:
        world = World(behaviours={"m:a": Behaviour(build_seconds=3.0)})
        await world.look(deploy=deploy("one", "a"))
        await CLOCK.sleep(2.0)
        seen = await world.look(UNSEEN, deploy=deploy("one", "a"))
        assert seen.deployed == "one"
        begun = CLOCK.now()
        await world.look_until("RUNNING", seen, deploy=deploy("one", "a"))
        assert CLOCK.now() - begun < 3.0
        assert len(world.head.puts) == 1

    run(play())


def test_an_operator_that_was_restarted_sends_what_the_head_does_not_hold() -> None:
    async def play() -> None:
        world = World()
        await world.look(deploy=deploy("one", "a"))
        seen = await world.look(UNSEEN, deploy=deploy("two", "b"))
        assert seen.serve is not None
        assert {name: app.status for name, app in seen.serve.applications.items()} == {
            "a": "DELETING",
            "b": "DEPLOYING",
        }
        await world.look(UNSEEN, deploy=deploy("two", "b", anew=True))
        assert len(world.head.puts) == 3

    run(play())


def test_a_refused_configuration_is_told_and_not_sent_again() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look(deploy=deploy("bad", "a", "a"))
        assert (seen.deployed, seen.failure) == ("bad", None)
        assert 'Found multiple configs for application "a"' in seen.refusal
        asked = len(world.reach.asked)
        assert await world.look(seen, deploy=deploy("bad", "a", "a")) == seen
        assert [method for _, method, _ in world.reach.asked[asked:]] == ["GET", "GET"]
        seen = await world.look(seen, deploy=deploy("good", "a"))
        assert (seen.deployed, seen.refusal) == ("good", "")

    run(play())


def test_a_head_that_lost_its_memory_gets_the_configuration_again() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look_until("RUNNING", UNSEEN, deploy=deploy("one", "a"))
        world.head.restart()
        seen = await world.look(seen, deploy=deploy("one", "a"))
        assert seen.session == world.head.session
        assert len(world.head.puts) == 2
        assert seen.serve is not None
        assert seen.serve.applications["a"].status == "DEPLOYING"

    run(play())


def test_what_was_seen_outlives_a_failed_look() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look_until("RUNNING", UNSEEN, deploy=deploy("one", "a"))
        world.head.down = True
        lost = await world.look(seen, deploy=deploy("one", "a"))
        assert not is_reached(lost)
        assert lost.failure is not None
        assert lost.failure.reason == "Unreachable"
        assert (lost.serve, lost.deployed, lost.session) == (seen.serve, "one", seen.session)
        world.head.down = False
        assert await world.look(lost, deploy=deploy("one", "a")) == seen

    run(play())


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        pytest.param({"token": "wrong"}, "Unauthorized", id="a wrong token"),
        pytest.param({"token": "right", "session": "another"}, "WrongSession", id="another session than the one meant"),
    ],
)
def test_nothing_is_sent_to_a_head_that_is_not_ours(target: dict[str, Any], reason: str) -> None:
    async def play() -> None:
        world = World(token="right")
        seen = await world.look(deploy=deploy("one", "a"), **target)
        assert seen.failure is not None
        assert (seen.failure.reason, seen.session, seen.deployed) == (reason, "", "")
        assert world.head.puts == []

    run(play())


def test_nothing_is_sent_to_a_head_that_belongs_to_another() -> None:
    async def play() -> None:
        world = World()
        target = Target(world.place, deploy=deploy("one", "a"))
        seen = await look(world.reach, target, UNSEEN, lambda _: False)
        assert seen.failure is not None
        assert seen.failure.reason == "WrongSession"
        assert world.head.puts == []

    run(play())


class Losing(SimulatedReach):
    """The answer to the first configuration is lost; whether the head got it is up to ``arrives``."""

    def __init__(self, *, arrives: bool) -> None:
        super().__init__(CLOCK)
        self._arrives = arrives
        self._lost = False

    async def ask(self, place: Place, ask: Ask) -> Answer:
        if ask.method == "PUT" and not self._lost:
            self._lost = True
            if self._arrives:
                await super().ask(place, ask)
            return Answer(500, b"Traceback\nRayServeException: the controller is busy")
        return await super().ask(place, ask)


@pytest.mark.parametrize("arrives", [True, False], ids=["it arrived", "it did not"])
def test_a_configuration_whose_answer_was_lost_is_sent_again_only_if_it_did_not_arrive(
    arrives: bool,
) -> None:
    async def play() -> None:
        reach = Losing(arrives=arrives)
        head = SimulatedHead(CLOCK.now)
        target = Target(reach.add(head), deploy=deploy("one", "a"))
        before = Observation(head.session, deployed="an earlier one")
        seen = await look(reach, target, before, lambda _: True)
        assert seen.failure is not None
        assert seen.failure.reason == "Failed"
        assert "the controller is busy" in seen.failure.message
        assert seen.serve is not None
        assert bool(seen.serve.applications) is arrives
        seen = await look(reach, target, seen, lambda _: True)
        assert (seen.failure, seen.deployed) == (None, "one")
        assert len(head.puts) == 1

    run(play())


class Silent(SimulatedReach):
    """Says nothing about applications once a configuration was sent."""

    def __init__(self) -> None:
        super().__init__(CLOCK)
        self.silent = False

    async def ask(self, place: Place, ask: Ask) -> Answer:
        if ask.method == "GET" and "applications" in ask.path and self.silent:
            return Answer(503, b"Serve's controller does not answer")
        self.silent = self.silent or ask.method == "PUT"
        return await super().ask(place, ask)


def test_what_was_seen_of_one_configuration_says_nothing_of_the_next() -> None:
    async def play() -> None:
        reach = Silent()
        head = SimulatedHead(CLOCK.now)
        place = reach.add(head)
        running = await look(reach, Target(place), UNSEEN, lambda _: True)
        seen = await look(reach, Target(place, deploy=deploy("one", "a")), running, lambda _: True)
        assert seen.deployed == "one"
        assert seen.serve is None
        assert seen.failure is not None

    run(play())


def test_a_serve_that_somebody_emptied_is_sent_its_configuration_again() -> None:
    async def play() -> None:
        world = World()
        seen = await world.look_until("RUNNING", UNSEEN, deploy=deploy("one", "a"))
        world.head.answer("DELETE", "/api/serve/applications/", {}, None)
        seen = await world.look(seen, deploy=deploy("one", "a"))
        await world.look_until("RUNNING", seen, deploy=deploy("one", "a"))
        assert len(world.head.puts) == 2

    run(play())


def test_what_ray_still_says_of_the_former_configuration_is_known_as_such() -> None:
    async def play() -> None:
        failing = Behaviour(constructor_error="RuntimeError: no weights", build_seconds=0.1)
        world = World(behaviours={"m:a": failing, "m:b": Behaviour(build_seconds=60.0)})
        first, second = deploy("one", "a"), deploy("two", "b")
        seen = await world.look(deploy=first)
        while not seen.tracebacks:
            await CLOCK.sleep(0.5)
            seen = await world.look(seen, deploy=first)
        (text,) = seen.tracebacks.values()
        seen = await world.look(seen, deploy=second)
        assert text in seen.former
        assert text not in seen.tracebacks.values()

    run(play())


def test_what_a_constructor_raised_is_kept_when_ray_says_only_that_the_deployment_failed() -> None:
    async def play() -> None:
        world = World(behaviours={"m:a": Behaviour(constructor_error="RuntimeError: no weights", build_seconds=0.1)})
        wanted = deploy("one", "a")
        seen = await world.look_until("DEPLOY_FAILED", await world.look(deploy=wanted), deploy=wanted)
        for deployment in world.head._apps["a"].live.values():
            deployment.message = ""
        seen = await world.look(seen, deploy=wanted)
        assert seen.serve is not None
        (failed,) = seen.serve.applications["a"].deployments.values()
        assert "no weights" not in f"{seen.serve.applications['a'].message} {failed.message}"
        assert "RuntimeError: no weights" in seen.tracebacks["a"]

    run(play())
