"""A watcher that goes on from the last revision it saw misses nothing, or is told that it must list again."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Sequence
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rayward.local.store import Compacted, Event, Record, Store, Tuning
from tests.store.support import says

_KEYS = [f"/{resource}/{space}/{name}" for resource in ("pods", "jobs") for space in "xy" for name in "ab"]
_PREFIXES = ["", "/pods/", "/pods/x/", "/jobs/y/"]
_TUNING = Tuning(max_queued=20, max_batch=3, checkpoint_bytes=20_000)


class Watcher:
    """What a client does: list, then follow events; on Compacted list again."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.since = 0
        self.seen: dict[str, Record] = {}
        self.events: list[int] = []
        self.connected = False
        self.inbox: list[Event] = []
        self.relists = 0

    def list(self, store: Store) -> None:
        prefixes = [self.prefix] if self.prefix else ["/pods/", "/jobs/"]
        self.seen = {record.key: record for prefix in prefixes for record in store.snapshot(prefix, store.revision)}
        self.since = store.revision
        self.events = []
        self.relists += 1

    def connect(self, store: Store) -> None:
        """Take the history and, from the same moment on, what is told."""
        try:
            self.inbox = list(store.events(self.since, self.prefix))
        except Compacted as gone:
            if not gone.since == self.since < gone.compacted:
                raise AssertionError(gone) from gone
            self.list(store)
            self.inbox = []
        self.connected = True

    def tell(self, events: Sequence[Event]) -> None:
        if self.connected:
            self.inbox.extend(event for event in events if event.key.startswith(self.prefix))

    def read(self, count: int) -> None:
        for event in self.inbox[:count]:
            assert event.revision > self.since, "doubled or out of order"
            assert self.seen.get(event.key) == event.previous, "an event of this key is missing"
            self.since = event.revision
            self.events.append(event.revision)
            if event.record is None:
                del self.seen[event.key]
            else:
                self.seen[event.key] = event.record
        del self.inbox[:count]


class WatchResume(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="rayward-store-"))
        self.watchers = [Watcher(prefix) for prefix in _PREFIXES]
        self.open()

    @initialize()
    def start(self) -> None:
        for watcher in self.watchers:
            watcher.list(self.store)

    def open(self) -> None:
        self.store = self.loop.run_until_complete(
            Store.open(self.folder / "db", on_commit=self.on_commit, tuning=_TUNING, clock=lambda: 1.0)
        )

    def on_commit(self, events: Sequence[Event]) -> None:
        for watcher in self.watchers:
            watcher.tell(events)

    def teardown(self) -> None:
        for watcher in self.watchers:
            watcher.connect(self.store)
            watcher.read(len(watcher.inbox))
        self.what_a_watcher_knows_is_true()
        self.loop.run_until_complete(self.store.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    @rule(writes=st.lists(st.tuples(st.sampled_from(_KEYS), st.booleans()), min_size=1, max_size=8))
    def write(self, writes: list[tuple[str, bool]]) -> None:
        async def all_at_once() -> None:
            waiting: list[Awaitable[object]] = []
            for key, delete in writes:
                if not delete:
                    waiting.append(self.store.put(key, says("v"), expect=None))
                elif self.store.newest(key):
                    waiting.append(self.store.delete(key, says("gone"), expect=None))
            await asyncio.gather(*waiting)

        self.loop.run_until_complete(all_at_once())

    @rule(which=st.integers(0, len(_PREFIXES) - 1), count=st.integers(1, 9))
    def read(self, which: int, count: int) -> None:
        self.watchers[which].read(count)

    @rule(which=st.integers(0, len(_PREFIXES) - 1))
    def reconnect(self, which: int) -> None:
        self.watchers[which].connect(self.store)

    @rule(which=st.integers(0, len(_PREFIXES) - 1))
    def disconnect(self, which: int) -> None:
        self.watchers[which].connected = False
        self.watchers[which].inbox = []

    @rule(keep=st.integers(0, 10))
    def compact(self, keep: int) -> None:
        self.loop.run_until_complete(self.store.compact(keep_events=keep, keep_seconds=0))

    @rule()
    def restart(self) -> None:
        self.loop.run_until_complete(self.store.close())
        for watcher in self.watchers:
            watcher.connected = False
            watcher.inbox = []
        self.open()

    @invariant()
    def what_a_watcher_knows_is_true(self) -> None:
        """Whoever has read everything knows the state; whoever has not, knows it once the rest is read."""
        for watcher in self.watchers:
            if not watcher.connected:
                continue
            known = dict(watcher.seen)
            for event in watcher.inbox:
                if event.record is None:
                    del known[event.key]
                else:
                    known[event.key] = event.record
            prefixes = [watcher.prefix] if watcher.prefix else ["/pods/", "/jobs/"]
            assert known == {key: self.store.get(key) for prefix in prefixes for key in self.store.keys(prefix)}


WatchResume.TestCase.settings = settings(max_examples=80, stateful_step_count=40)
TestWatchResume = WatchResume.TestCase
