from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rayward.kube.client.api import Client
from rayward.kube.client.credentials import NoCredentials
from rayward.kube.client.transport.recording import answer_json
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.course import Step
from rayward.kube.runtime.reflector import Reflector
from tests.runtime.simulated import ConnectFailed, ConnectionLost, Simulated, TimedOut, status
from tests.runtime.virtual import VirtualClock, VirtualLoop, run

SETTLED = 700.0
"""Longer than any back-off and any watch."""


class Followed:
    """A server, a reflector on it, and all that a listener was told."""

    def __init__(self, server: Simulated, **more: Any) -> None:
        self.server = server
        self.cache = Cache(PODS, Pod)
        self.told: list[tuple[str, str, int]] = []
        self.cache.subscribe(self._note)
        self._known: dict[Key, Pod] = {}
        self._problems: list[AssertionError] = []
        self.first_sync = (-1, 0)
        """The version of the first list, and how much was told of it."""
        self.cache.subscribe_version(self._note_first_sync)
        self.reflector = Reflector(Client(server), self.cache, clock=VirtualClock(), chance=lambda: 0.5, **more)
        self.task = asyncio.ensure_future(self.reflector.run())

    def _note(self, old: Pod | None, new: Pod | None) -> None:
        try:
            self._check(old, new)
        except AssertionError as problem:  # a cache shields itself from its listeners
            self._problems.append(problem)

    def _check(self, old: Pod | None, new: Pod | None) -> None:
        """Every notice must fit to the one before it: nothing lost, doubled or out of order."""
        seen = new or old
        assert seen is not None
        known = self._known.get(seen.key)
        if old is None:
            assert known is None, f"{seen.key} was added twice"
            kind = "ADDED"
        else:
            assert known is not None, f"{seen.key} changed before it was added"
            assert known.metadata.uid == old.metadata.uid
            kind = "DELETED" if new is None else "MODIFIED"
        if new is None:
            del self._known[seen.key]
        else:
            if known is not None:
                assert int(new.metadata.resource_version) > int(known.metadata.resource_version)
            self._known[seen.key] = new
        self.told.append((kind, seen.metadata.name, int(seen.metadata.resource_version)))

    def _note_first_sync(self, version: int) -> None:
        if self.first_sync[0] < 0:
            self.first_sync = (version, len(self.told))

    @property
    def held(self) -> dict[str, str]:
        return {found.metadata.name: found.metadata.resource_version for found in self.cache}

    @property
    def wanted(self) -> dict[str, str]:
        return {name: found["metadata"]["resourceVersion"] for name, found in self.server.objects.items()}

    async def settle(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)
        assert not self.task.done()
        if self._problems:
            raise self._problems[0]

    async def stop(self) -> None:
        await self.settle(0)
        self.task.cancel()
        await asyncio.wait([self.task])


def simulated(test: Callable[[Simulated], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def wrapped() -> None:
        run(test(Simulated()))

    wrapped.__name__ = test.__name__
    wrapped.__doc__ = test.__doc__
    return wrapped


@simulated
async def test_it_lists_in_pages_and_then_watches(server: Simulated) -> None:
    for number in range(1200):
        server.create(f"pod-{number:04}")
    followed = Followed(server)
    await followed.reflector.wait_synced()
    assert followed.held == followed.wanted
    assert server.lists == 3
    server.update("pod-0000", x=1)
    server.delete("pod-0001")
    server.create("new")
    await followed.settle()
    assert followed.held == followed.wanted
    assert followed.told[-3:] == [("MODIFIED", "pod-0000", 1202), ("DELETED", "pod-0001", 1203), ("ADDED", "new", 1204)]
    assert server.lists == 3
    await followed.stop()


@simulated
async def test_a_watch_asks_for_bookmarks_and_ends_after_some_minutes(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    assert server.requests == [
        "GET /api/v1/pods?limit=500",
        "GET /api/v1/pods?resourceVersion=1&timeoutSeconds=450&allowWatchBookmarks=true&watch=true",
    ]
    await followed.stop()


@simulated
async def test_a_watch_goes_on_where_the_last_one_ended(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    server.create("a")
    await followed.settle()
    server.end_watches()
    server.create("b")
    await followed.settle()
    assert followed.told == [("ADDED", "a", 2), ("ADDED", "b", 3)]
    assert "resourceVersion=2" in server.requests[-1]
    assert server.lists == 1
    await followed.stop()


@simulated
async def test_bookmarks_keep_an_idle_watch_from_expiring(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    for _ in range(5):
        server.touch_elsewhere()
    server.bookmark()
    await followed.settle()
    server.compact()
    server.end_watches()
    await followed.settle()
    assert "resourceVersion=6" in server.requests[-1]
    assert server.lists == 1
    assert followed.cache.version == 6
    await followed.stop()


@simulated
async def test_silence_leads_to_a_new_connection_at_the_same_place(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle(71)
    assert [request.startswith("GET /api/v1/pods?resourceVersion=1") for request in server.requests[1:]] == [True, True]
    age = followed.reflector.last_sync_age
    assert age is not None
    assert age > 70
    await followed.stop()


@simulated
async def test_a_version_that_is_gone_leads_to_a_list_and_what_is_missing_is_deleted(server: Simulated) -> None:
    for name in ("kept", "gone", "replaced"):
        server.create(name)
    followed = Followed(server)
    await followed.settle()
    server.break_watches(ConnectionLost("cut"))
    server.delete("gone")
    server.delete("replaced")
    server.create("replaced")
    server.create("new")
    server.compact()
    await followed.settle(5)
    assert followed.held == followed.wanted
    assert followed.told[3:] == [
        ("ADDED", "new", 8),
        ("DELETED", "replaced", 4),
        ("ADDED", "replaced", 7),
        ("DELETED", "gone", 3),
    ]
    assert server.lists == 2
    await followed.stop()


@simulated
async def test_a_server_restored_from_a_backup_is_listed_again(server: Simulated) -> None:
    server.create("a")
    server.create("b")
    followed = Followed(server)
    await followed.settle()
    server.break_watches(ConnectionLost("restart"))
    server.__init__()
    server.create("c")
    await followed.settle(5)
    assert followed.held == followed.wanted == {"c": "2"}
    await followed.stop()


@simulated
async def test_pages_that_expire_are_read_in_one_go(server: Simulated) -> None:
    for number in range(600):
        server.create(f"pod-{number:04}")
    followed = Followed(server)
    await asyncio.sleep(0.0015)
    server.delete("pod-0000")
    server.compact()
    await followed.settle()
    assert followed.held == followed.wanted
    assert "limit=0" in server.requests[2]
    await followed.stop()


@simulated
async def test_failures_are_met_with_growing_patience_until_something_works(server: Simulated) -> None:
    unavailable = answer_json(503, status(503, "ServiceUnavailable"))
    server.refuse_next.extend([ConnectFailed("x"), unavailable, ConnectFailed("x"), unavailable, ConnectFailed("x")])
    followed = Followed(server)
    await followed.settle(0.8 + 1.6 + 3.2 + 6.4 + 12.7)
    assert not followed.cache.synced
    assert isinstance(followed.reflector.last_error, ConnectFailed)
    await followed.settle(1)
    assert followed.cache.synced
    await followed.stop()


@simulated
async def test_credentials_that_are_gone_for_a_while(server: Simulated) -> None:
    followed = Followed(server)
    await followed.settle()
    server.refuse_next.extend([NoCredentials("cannot read the token")] * 3)
    server.break_watches(ConnectionLost("x"))
    server.create("a")
    await followed.settle(30)
    assert followed.held == followed.wanted
    await followed.stop()


@simulated
async def test_patience_has_an_end_but_trying_has_not(server: Simulated) -> None:
    server.refuse_next.extend([ConnectFailed("x")] * 100)
    followed = Followed(server)
    await followed.settle(10_000)
    assert followed.cache.synced
    await followed.stop()


@simulated
async def test_a_server_that_can_be_listed_but_not_watched_is_not_listed_for_ever(server: Simulated) -> None:
    followed = Followed(server)
    begin = server._begin

    def forbidden(watch: Any, query: Any) -> None:
        watch.refuse(403, status(403, "Forbidden"))

    server._begin = forbidden
    await followed.settle(100)
    assert server.lists <= 8
    server._begin = begin
    await followed.settle(100)
    server.create("a")
    await followed.settle()
    assert followed.held == followed.wanted
    await followed.stop()


@simulated
async def test_an_object_of_another_shape_stays_as_last_understood(server: Simulated) -> None:
    server.create("odd", nodeName="n1")
    server.create("good")
    followed = Followed(server)
    await followed.settle()
    server.update("odd", nodeName=5)
    server.update("good", nodeName="n2")
    await followed.settle()
    odd, good = followed.cache.get(Key("a", "odd")), followed.cache.get(Key("a", "good"))
    assert odd is not None
    assert good is not None
    assert (odd.spec.node_name, good.spec.node_name) == ("n1", "n2")
    assert followed.reflector.unreadable.keys() == {Key("a", "odd")}
    server.expire_watches()
    await followed.settle(5)
    assert followed.cache.get(Key("a", "odd")) == odd
    assert followed.reflector.unreadable.keys() == {Key("a", "odd")}
    server.update("odd", nodeName="n3")
    await followed.settle()
    assert followed.held == followed.wanted
    assert followed.reflector.unreadable == {}
    server.update("odd", nodeName=5)
    server.delete("odd")
    await followed.settle()
    assert followed.held == followed.wanted
    await followed.stop()


class TestStreamedList:
    def test_one_request_lists_and_watches(self) -> None:
        async def scenario() -> None:
            server = Simulated()
            for name in "abc":
                server.create(name)
            followed = Followed(server, watch_list=True)
            await followed.settle()
            assert followed.held == followed.wanted
            server.delete("a")
            await followed.settle()
            assert followed.held == followed.wanted
            assert len(server.requests) == 1
            server.break_watches(ConnectionLost("x"))
            server.create("d")
            await followed.settle(5)
            assert followed.held == followed.wanted
            assert "resourceVersion=5" in server.requests[1]
            assert "sendInitialEvents" not in server.requests[1]
            server.delete("b")
            server.expire_watches()
            await followed.settle(5)
            assert followed.held == followed.wanted
            assert "sendInitialEvents" in server.requests[-1]
            await followed.stop()

        run(scenario())

    def test_a_server_that_cannot_is_listed_in_pages(self) -> None:
        async def scenario() -> None:
            server = Simulated()
            server.can_stream = False
            server.create("a")
            followed = Followed(server, watch_list=True)
            await followed.settle(5)
            assert followed.held == followed.wanted
            assert followed.reflector.course.listing is Step.LIST
            await followed.stop()

        run(scenario())


NAMES = st.sampled_from("abcde")
ERRORS = st.sampled_from([ConnectionLost("cut"), TimedOut("silence")])


class Following(RuleBasedStateMachine):
    """Whatever happens to the server and the network: in the end the cache is equal, and every notice fitted."""

    watch_list = False

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.server = Simulated()
        self.relisting_allowed = False
        self.followed = self.runner.run(self._start())

    async def _start(self) -> Followed:
        return Followed(self.server, watch_list=self.watch_list)

    def teardown(self) -> None:
        self.server.refuse_next.clear()
        self.runner.run(self.followed.settle(SETTLED))
        try:
            assert self.followed.held == self.followed.wanted
            if not self.relisting_allowed:
                version, count = self.followed.first_sync
                assert self.followed.told[count:] == [
                    (kind, found["metadata"]["name"], at) for at, kind, found in self.server.history if at > version
                ]
                assert self.server.lists == (0 if self.watch_list else 1)
            self.runner.run(self.followed.stop())
        finally:
            self.runner.close()

    @rule(name=NAMES, value=st.integers(0, 9))
    def write(self, name: str, value: int) -> None:
        if name in self.server.objects:
            self.server.update(name, priority=value)
        else:
            self.server.create(name, priority=value)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name)

    @rule(name=NAMES)
    def replace(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name)
        self.server.create(name)

    @rule(times=st.integers(1, 3))
    def bookmark(self, times: int) -> None:
        for _ in range(times):
            self.server.bookmark()

    @rule()
    def other_collections_change(self) -> None:
        self.server.touch_elsewhere()

    @rule()
    def watches_end(self) -> None:
        self.server.end_watches()

    @rule(error=ERRORS, tear=st.booleans())
    def the_network_breaks(self, error: ConnectionLost, tear: bool) -> None:
        self.server.break_watches(error, tear=tear)

    @rule(code=st.sampled_from([429, 500, 503]))
    def the_server_is_busy(self, code: int) -> None:
        self.server.refuse_next.append(answer_json(code, status(code, "")))

    @rule()
    def nobody_listens(self) -> None:
        self.server.refuse_next.append(ConnectFailed("refused"))

    @rule()
    def history_is_compacted(self) -> None:
        self.relisting_allowed = True
        self.server.compact()

    @rule()
    def watches_expire(self) -> None:
        self.relisting_allowed = True
        self.server.expire_watches()

    @precondition(lambda self: self.followed.cache.synced)
    @rule()
    def forbidden_for_a_while(self) -> None:
        self.relisting_allowed = True
        self.server.refuse_next.append(answer_json(403, status(403, "Forbidden")))

    @rule(seconds=st.sampled_from([0.0, 0.0005, 0.002, 1.0, 80.0]))
    def time_passes(self, seconds: float) -> None:
        self.runner.run(self.followed.settle(seconds))

    @invariant()
    def the_cache_never_knows_more_than_the_server(self) -> None:
        assert self.followed.cache.version <= self.server.version


class FollowingStreamedLists(Following):
    watch_list = True


_SETTINGS = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestFollowing = Following.TestCase
TestFollowing.settings = _SETTINGS
TestFollowingStreamedLists = FollowingStreamedLists.TestCase
TestFollowingStreamedLists.settings = _SETTINGS


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "rayward.kube.runtime.reflector")
