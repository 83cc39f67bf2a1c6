"""Whatever happens to the server and the network, a reflector ends with what the server holds."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.client.recording import answer_json
from tests.runtime.followed import Followed
from tests.runtime.simulated import ConnectFailed, ConnectionLost, Simulated, TimedOut, status
from tests.runtime.virtual import VirtualLoop

pytestmark = pytest.mark.usefixtures("quiet_reflector")

_SETTLED: Final = 700.0
"""Longer than any back-off and any watch."""
_NAMES = st.sampled_from("abcde")
_ERRORS = st.sampled_from([ConnectionLost("cut"), TimedOut("silence")])


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
        self.runner.run(self.followed.settle(_SETTLED))
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

    @rule(name=_NAMES, value=st.integers(0, 9))
    def write(self, name: str, value: int) -> None:
        if name in self.server.objects:
            self.server.update(name, priority=value)
        else:
            self.server.create(name, priority=value)

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        if name in self.server.objects:
            self.server.delete(name)

    @rule(name=_NAMES)
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

    @rule(error=_ERRORS, tear=st.booleans())
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


_SETTINGS = settings(max_examples=200, stateful_step_count=40)
TestFollowing = Following.TestCase
TestFollowing.settings = _SETTINGS
TestFollowingStreamedLists = FollowingStreamedLists.TestCase
TestFollowingStreamedLists.settings = _SETTINGS
