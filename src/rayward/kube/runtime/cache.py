"""The objects of one collection, as last seen."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec
import orjson

from rayward.kube.client.values import as_dict
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject, version_number
from rayward.kube.core.resource import Resource

T = TypeVar("T", bound=KubeObject)

_log = logging.getLogger(__name__)
_NOTHING = KubeObject()
_MOST_WAITS = 1024

Index = Callable[[T], Iterable[str]]
"""Under which values an object is found."""
Listener = Callable[[T | None, T | None], None]
"""Told of each change: (None, new) added, (old, new) modified, (old, None) deleted."""


def by_owner(found: KubeObject) -> Iterable[str]:
    """Index by the uid of the managing owner."""
    owner = controller_of(found)
    return () if owner is None else (owner.uid,)


@functools.cache
def by_label(name: str) -> Callable[[KubeObject], Iterable[str]]:
    """Index by the value of a label, inside its namespace: ``namespace/value``."""

    def values(found: KubeObject) -> Iterable[str]:
        labels = found.metadata.labels
        return (f"{found.metadata.namespace}/{labels[name]}",) if labels and name in labels else ()

    return values


class Cache(Generic[T]):
    """A slim object and, unless ``keep_raw`` is off, the bytes of the whole one, per key.

    Readers get frozen objects and may keep them. The reflector alone writes; listeners run in the order of the
    server's changes, before the writer goes on.
    """

    def __init__(
        self, resource: Resource, kind: type[T], *, keep_raw: bool = True, indexes: Mapping[str, Index[T]] | None = None
    ) -> None:
        self.resource = resource
        self.kind = kind
        self.synced = False
        """Whether the first list is in, and its listeners are told."""
        self.version = -1
        """All changes up to this resourceVersion are in; -1 before the first list."""
        self._keep_raw = keep_raw
        self._objects: dict[Key, T] = {}
        self._raw: dict[Key, bytes] = {}
        self._indexes: dict[str, tuple[Index[T], dict[str, dict[Key, None]]]] = {
            name: (function, {}) for name, function in {"namespace": _namespace, **(indexes or {})}.items()
        }
        self._listeners: list[Listener[T]] = []
        self._version_listeners: list[Callable[[int], None]] = []
        self._missed: dict[tuple[int, Key], tuple[T | None, int, int]] = {}
        """What a listener last knew of an object when it failed, advances until it is told again, and how many then."""

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def raw(self, key: Key) -> bytes | None:
        """One object whole, as the server sent it."""
        return self._raw.get(key)

    def whole(self, key: Key) -> dict[str, Any] | None:
        """One object whole, decoded anew: the caller may change it."""
        raw = self._raw.get(key)
        if raw is None:
            return None
        found = as_dict(orjson.loads(raw))
        # Items of a list come without these two.
        found.setdefault("apiVersion", self.resource.api_version)
        found.setdefault("kind", self.resource.kind)
        return found

    def find(self, index: str, value: str) -> list[T]:
        """The objects that an index has under ``value``, in the order they came in."""
        objects = self._objects
        return [objects[key] for key in self._indexes[index][1].get(value, ())]

    def add_index(self, name: str, function: Index[T]) -> None:
        """Find objects by ``function`` too: for readers of a cache that somebody else declared.

        Raises:
            ValueError: There is another index of that name.
        """
        known = self._indexes.get(name)
        if known is not None:
            if known[0] is not function:
                raise ValueError(f"{self.resource} has another index {name}")
            return
        entries: dict[str, dict[Key, None]] = {}
        for key, found in self._objects.items():
            for value in function(found):
                entries.setdefault(value, {})[key] = None
        self._indexes[name] = (function, entries)

    def in_namespace(self, namespace: str) -> list[T]:
        """The objects of one namespace."""
        return self.find("namespace", namespace)

    def subscribe(self, listener: Listener[T]) -> None:
        """Tell ``listener`` of every change from now on, and of what is there already."""
        for found in self:
            listener(None, found)
        self._listeners.append(listener)

    def subscribe_version(self, listener: Callable[[int], None]) -> None:
        """Tell ``listener`` whenever ``version`` grew."""
        self._version_listeners.append(listener)

    def kept(self, raw: msgspec.Raw) -> bytes:
        """The part of a whole object that this cache keeps: all, or nothing."""
        return bytes(raw) if self._keep_raw else b""

    def put(self, new: T, raw: bytes) -> None:
        """The object is there in this state; ``raw`` is what ``kept`` gave."""
        key = new.metadata.key
        old = self._objects.get(key)
        if old is not None and old.metadata.uid == new.metadata.uid:
            if old.metadata.resource_version == new.metadata.resource_version:
                return
        elif old is not None:
            # Deleted and made again while nobody looked: two objects, two stories.
            self.remove(key)
            old = None
        self._objects[key] = new
        if self._keep_raw:
            self._raw[key] = raw
        self._reindex(key, old, new)
        self._tell(old, new)

    def remove(self, key: Key, last: T | None = None) -> None:
        """The object is gone; ``last`` is its state at the end, where known."""
        old = self._objects.pop(key, None)
        if old is None:
            return
        self._raw.pop(key, None)
        self._reindex(key, old, None)
        self._tell(last or old, None)

    def replace(self, present: Iterable[tuple[T, bytes]], version: str, keep: Iterable[Key] = ()) -> None:
        """These objects are all there are, but for those in ``keep``: what else was there is gone."""
        gone = dict.fromkeys(self._objects)
        for key in keep:
            gone.pop(key, None)
        for found, raw in present:
            gone.pop(found.metadata.key, None)
            self.put(found, raw)
        for key in gone:
            self.remove(key)
        self.synced = True
        self.advance(version)

    def advance(self, version: str) -> None:
        """Everything up to ``version`` is in."""
        number = version_number(version)
        if number == self.version:
            return
        self.version = number
        for listener in self._version_listeners:
            listener(number)
        if self._missed:
            self._tell_again()

    def _tell(self, old: T | None, new: T | None) -> None:
        key = (new or old or _NOTHING).key
        for index in range(len(self._listeners)):
            known, _, waits = self._missed.pop((index, key), (old, 0, 1))
            self._tell_one(index, key, known, new, waits)

    def _tell_one(self, index: int, key: Key, known: T | None, new: T | None, waits: int) -> None:
        if known is new:
            return
        try:
            self._listeners[index](known, new)
        except Exception:
            # One reader's mistake about one object must neither stop the others nor the following of the server. It
            # is told again, more and more seldom: its mistake may have been a moment's.
            self._missed[index, key] = (known, waits, min(2 * waits, _MOST_WAITS))
            _log.exception("%s: a listener failed on %s", self.resource, key)

    def _tell_again(self) -> None:
        for (index, key), (known, left, waits) in list(self._missed.items()):
            if left > 1:
                self._missed[index, key] = (known, left - 1, waits)
                continue
            del self._missed[index, key]
            self._tell_one(index, key, known, self._objects.get(key), waits)

    def _reindex(self, key: Key, old: T | None, new: T | None) -> None:
        for function, entries in self._indexes.values():
            before = tuple(function(old)) if old is not None else ()
            after = tuple(function(new)) if new is not None else ()
            if before == after:
                continue
            for value in before:
                if value not in after:
                    keys = entries[value]
                    del keys[key]
                    if not keys:
                        del entries[value]
            for value in after:
                entries.setdefault(value, {})[key] = None


def _namespace(found: KubeObject) -> Iterable[str]:
    return (found.metadata.namespace,)
