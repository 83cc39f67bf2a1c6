"""Any sequence of calls leaves the store like the simplest program that could stand in for it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rayward.local.store import Compacted, Conflict, Event, Record, Store, Tuning
from tests.store.support import says

_KEYS = [f"/{resource}/{space}/{name}" for resource in ("pods", "podtemplates") for space in "xy" for name in "ab"]
_PREFIXES = ["/pods/", "/pods/x/", "/podtemplates/", "/podtemplates/y/", "/secrets/"]
_TUNING = Tuning(max_queued=50, max_batch=4, checkpoint_bytes=20_000, idle_checkpoint_bytes=1, idle_seconds=0.001)
_keys = st.sampled_from(_KEYS)
_prefixes = st.sampled_from(_PREFIXES)
_expectations = st.sampled_from(["any", "absent", "newest", "wrong"])


class StoreMachine(RuleBasedStateMachine):
    """The model is a list of all events ever, a mark, and which of them wait for a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="rayward-store-"))
        self.now = 1_000.0
        self.told: list[Event] = []
        self.log: list[Event] = []
        self.times: dict[int, float] = {}
        self.committed = 0
        self.compacted = 0
        self.waiting: list[tuple[Awaitable[Any], Event]] = []
        self.open()

    def open(self) -> None:
        self.store = self.loop.run_until_complete(
            Store.open(self.folder / "db", on_commit=self.on_commit, tuning=_TUNING, clock=lambda: self.now)
        )
        self.floor = self.store.revision

    def on_commit(self, events: Sequence[Event]) -> None:
        self.told.extend(events)

    def teardown(self) -> None:
        self.settle()
        self.loop.run_until_complete(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def state(self, upto: int | None = None, count: int | None = None) -> dict[str, Record]:
        state: dict[str, Record] = {}
        for event in self.log[:count]:
            if upto is not None and event.revision > upto:
                break
            if event.record is None:
                del state[event.key]
            else:
                state[event.key] = event.record
        return state

    def settle(self) -> None:
        async def wait() -> None:
            for awaitable, event in self.waiting:
                assert await awaitable == (event.record or event)

        self.loop.run_until_complete(wait())
        for event in self.log[self.committed :]:
            self.times[event.revision] = self.now
        self.waiting.clear()
        self.committed = len(self.log)

    def write(self, key: str, text: str | None, expectation: str) -> None:
        previous = self.state().get(key)
        newest = previous.revision if previous else 0
        expect = {"any": None, "absent": 0, "newest": newest, "wrong": newest + 1}[expectation]
        encode = says(text or "gone")
        if (expect is not None and expect != newest) or (text is None and previous is None):
            with pytest.raises(Conflict) as caught:
                _ = (
                    self.store.delete(key, encode, expect=expect)
                    if text is None
                    else self.store.put(key, encode, expect=expect)
                )
            assert caught.value.actual == newest
            return
        revision = max([self.floor, *(event.revision for event in self.log[-1:])]) + 1
        value = encode(revision)
        event = Event(revision, key, None if text is None else Record(key, revision, value), previous, value)
        self.log.append(event)
        awaitable = (
            self.store.delete(key, encode, expect=expect)
            if text is None
            else self.store.put(key, encode, expect=expect)
        )
        self.waiting.append((awaitable, event))

    @precondition(lambda self: len(self.waiting) < 50)
    @rule(key=_keys, text=st.text(max_size=5), expectation=_expectations)
    def put(self, key: str, text: str, expectation: str) -> None:
        self.write(key, text, expectation)

    @precondition(lambda self: len(self.waiting) < 50)
    @rule(key=_keys, expectation=_expectations)
    def delete(self, key: str, expectation: str) -> None:
        self.write(key, None, expectation)

    @rule()
    def commit(self) -> None:
        self.settle()

    @rule(seconds=st.integers(1, 10))
    def wait(self, seconds: int) -> None:
        self.settle()
        self.now += seconds

    @rule(keep_events=st.integers(0, 6), keep_seconds=st.integers(0, 20))
    def compact(self, keep_events: int, keep_seconds: int) -> None:
        self.settle()
        kept = [event for event in self.log if event.revision > self.compacted]
        for event in kept[: len(kept) - keep_events] if len(kept) > keep_events else []:
            if self.times[event.revision] > self.now - keep_seconds:
                break
            self.compacted = event.revision
        assert self.loop.run_until_complete(self.store.compact(keep_events, keep_seconds)) == self.compacted

    @rule()
    def reopen(self) -> None:
        self.settle()
        before = self.store.revision
        self.loop.run_until_complete(self.store.close())
        self.open()
        assert self.store.revision == before

    @rule()
    def reopen_after_a_kill(self) -> None:
        """The nearest thing to a kill in one process: a copy of the files as they are while the store is open."""
        self.settle()
        copy = Path(tempfile.mkdtemp(prefix="rayward-store-"))
        before = self.store.revision
        # Between two commits; what the files hold then is what a killed process leaves.
        self.loop.run_until_complete(
            self.store._writer.call(lambda _: shutil.copytree(self.folder, copy, dirs_exist_ok=True))
        )
        self.loop.run_until_complete(self.store.close())
        shutil.rmtree(self.folder)
        self.folder = copy
        self.open()
        assert self.store.revision == before + _TUNING.max_queued

    @rule(prefix=_prefixes, back=st.integers(0, 12))
    def look_back(self, prefix: str, back: int) -> None:
        self.settle()
        since = max(0, self.store.revision - back)
        if since < self.compacted:
            with pytest.raises(Compacted):
                self.store.events(since, prefix)
            with pytest.raises(Compacted):
                self.store.snapshot(prefix, since)
            return
        assert list(self.store.events(since, prefix)) == [
            event for event in self.log if event.revision > since and event.key.startswith(prefix)
        ]
        then = self.state(upto=since)
        expected = [then[key] for key in sorted(then) if key.startswith(prefix)]
        assert list(self.store.snapshot(prefix, since)) == expected
        paged: list[Record] = []
        while page := self.store.snapshot(prefix, since, after=paged[-1].key if paged else "", limit=2):
            paged.extend(page)
        assert paged == expected

    @invariant()
    def committed_state_is_the_models(self) -> None:
        state = self.state(count=len(self.told))
        assert self.told == self.log[: len(self.told)]
        for prefix in _PREFIXES:
            keys = sorted(key for key in state if key.startswith(prefix))
            assert list(self.store.keys(prefix)) == keys
            assert self.store.count(prefix) == len(keys)
        newest = self.state()
        for key in _KEYS:
            assert self.store.get(key) == state.get(key)
            assert self.store.newest(key) == newest.get(key)
        assert self.store.compacted == self.compacted


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestStoreMachine = StoreMachine.TestCase
