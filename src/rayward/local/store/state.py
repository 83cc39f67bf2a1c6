"""What is committed, in memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from typing import Self

from rayward.local.store.bucket import Bucket, bucket_name, prefix_name
from rayward.local.store.database import Row
from rayward.local.store.errors import Compacted
from rayward.local.store.history import History
from rayward.local.store.record import Event, Record


class State:
    """The latest record of every key, and the events above the compaction mark."""

    __slots__ = ("_buckets", "history", "records", "revision")

    def __init__(self, revision: int, compacted: int) -> None:
        self.revision = revision
        self.records: dict[str, Record] = {}
        self.history = History(compacted)
        self._buckets: dict[str, Bucket] = {}

    @classmethod
    def load(cls, rows: Iterable[Row], revision: int, compacted: int) -> Self:
        """The state that the log describes."""
        state = cls(revision, compacted)
        rows = iter(rows)
        first_event = next((row for row in rows if not state._load_base(row)), None)
        if first_event is not None:
            for at, group in groupby(chain((first_event,), rows), lambda row: row[2]):
                state.history.add([state._load_event(row) for row in group], at)
        for name, keys in groupby(sorted(state.records), bucket_name):
            state._bucket(name).set_keys(keys)
        return state

    def _load_base(self, row: Row) -> bool:
        """Take over a line up to the compaction mark, which is state and no event; False if it is above."""
        revision, key, _, _, value = row
        if revision > self.history.compacted:
            return False
        self.records[key] = Record(key, revision, value)
        return True

    def _load_event(self, row: Row) -> Event:
        revision, key, _, deleted, value = row
        previous = self.records.get(key)
        key = key if previous is None else previous.key
        if deleted:
            event = Event(revision, key, None, previous, value)
            self.records.pop(key, None)
        else:
            record = self.records[key] = Record(key, revision, value)
            event = Event(revision, key, record, previous, value)
        self._bucket(bucket_name(key)).load(event)
        return event

    def commit(self, events: Sequence[Event], at: int) -> None:
        """Take over what was made durable together."""
        for event in events:
            self._apply(event)
        self.history.add(events, at)
        self.revision = events[-1].revision

    def _apply(self, event: Event) -> None:
        if event.record is None:
            del self.records[event.key]
        else:
            self.records[event.key] = event.record
        self._bucket(bucket_name(event.key)).add(event)

    def _bucket(self, name: str) -> Bucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = Bucket()
        return bucket

    def forget(self, mark: int) -> list[Event]:
        """Drop and return the events up to ``mark``."""
        for bucket in self._buckets.values():
            bucket.forget(mark)
        return self.history.forget(mark)

    def keys(self, prefix: str) -> Sequence[str]:
        """The keys that begin with ``prefix``, in order."""
        bucket = self._buckets.get(prefix_name(prefix))
        return () if bucket is None else bucket.keys(prefix)

    def count(self, prefix: str) -> int:
        """How many keys begin with ``prefix``."""
        bucket = self._buckets.get(prefix_name(prefix))
        return 0 if bucket is None else bucket.count(prefix)

    def events(self, since: int, prefix: str) -> Sequence[Event]:
        """The events above ``since`` whose key begins with ``prefix``, or all for an empty one."""
        if since < self.history.compacted:
            raise Compacted(since, self.history.compacted)
        if not prefix:
            return [event for event in self.history if event.revision > since]
        bucket = self._buckets.get(prefix_name(prefix))
        return () if bucket is None else bucket.events(since, prefix)

    def snapshot(self, prefix: str, revision: int, after: str, limit: int | None) -> list[Record]:
        """The records as they were at ``revision``, in the order of their keys."""
        undone: dict[str, Record | None] = {}
        for event in reversed(self.events(revision, prefix)):
            undone[event.key] = event.previous
        records = self.records
        keys = self.keys(prefix)
        if undone:
            since_deleted = [key for key, record in undone.items() if record is not None and key not in records]
            keys = [key for key in keys if undone.get(key, key) is not None]
            keys = sorted([*keys, *since_deleted]) if since_deleted else keys
        first = bisect_right(keys, after) if after else 0
        page = keys[first:] if limit is None else keys[first : first + limit]
        return [undone.get(key) or records[key] for key in page]
