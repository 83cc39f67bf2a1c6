"""Objects as the store keeps them: encoded once, with their identity in front, and the same bytes for every reader."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from rayward.kube.machinery.apply import Owners, owners_of
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.resource import Resource
from rayward.local.store import Record, Store

if TYPE_CHECKING:
    from rayward.local.apiserver.crd.conversion import Conversions

Encoder = Callable[[int], bytes]
_OWNERS_KEPT = 1024
_LAST_SECOND = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Live:
    """The newest version of an object, decoded for one request."""

    record: Record
    value: Object


class Objects:
    """Reads and encodes the objects of all resources."""

    def __init__(self, store: Store, conversions: Conversions) -> None:
        self.store = store
        self.conversions = conversions
        self._owners: OrderedDict[str, tuple[int, Owners]] = OrderedDict()

    def newest(self, resource: Resource, namespace: str, name: str) -> Live | None:
        """The object including writes that are still on their way to the disk."""
        record = self.store.newest(resource.key(namespace, name))
        return None if record is None else Live(record, self.decode(resource, record))

    def decode(self, resource: Resource, record: Record) -> Object:
        """A fresh copy of the object, in the resource's version."""
        return orjson.loads(self.view(resource, record))

    def view(self, resource: Resource, record: Record) -> bytes:
        """The object's JSON in the resource's version. Raises ConversionNeeded."""
        if resource.conversion is not None and not record.value.startswith(resource.head):
            return self.conversions.kept(resource, record)
        if resource.refresh is not None and (
            # a writer that was on its way when the stored version changed still wrote the old one
            record.revision < resource.schema_since or not record.value.startswith(resource.stored_head)
        ):
            return rendered(resource.head, resource.refresh(orjson.loads(record.value)))
        if resource.stored_head is resource.head:
            return record.value
        return resource.head + record.value[len(resource.stored_head) :]

    def preview(self, resource: Resource, obj: Object, revision: int) -> bytes:
        """The JSON of an object that is not stored, as it would be read if it were."""
        if resource.conversion is not None:
            obj["metadata"]["resourceVersion"] = str(revision)
            return rendered(resource.head, obj)
        return self.view(resource, Record("", revision, encode(resource, obj, revision)))

    async def shown(self, resource: Resource, record: Record) -> bytes:
        """The same as ``view`` after a write, when it is too late to start again."""
        if resource.conversion is not None:
            await self.convert(resource, [record])
        return self.view(resource, record)

    async def convert(self, resource: Resource, records: Sequence[Record]) -> None:
        """Have stored objects converted to the resource's version, all at once; all of them are kept together."""
        wanted = [record for record in records if self.conversions.lacks(resource, record)]
        if wanted:
            found = await self.conversions.convert(resource, [orjson.loads(record.value) for record in wanted])
            for record, obj in zip(wanted, found, strict=True):
                self.conversions.keep(resource, record, rendered(resource.head, obj))
        self.conversions.forget(resource, records)

    async def encoder(self, resource: Resource, obj: Object) -> Encoder:
        """What stores an object at a revision, once it is in the version in which it is stored."""
        if resource.conversion is None or resource.stored_head is resource.head:
            return lambda revision: encode(resource, obj, revision)
        stored = replace(resource, version=resource.storage_version, refresh=None)
        given = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        converted = (await self.conversions.convert(stored, [given]))[0]
        return lambda revision: encode(resource, converted, revision)

    def owners(self, live: Live) -> Owners:
        """The decoded managed fields of an object, remembered for the next write of it."""
        known = self._owners.get(live.record.key)
        if known is not None and known[0] == live.record.revision:
            return known[1]
        return owners_of(live.value)

    def remember_owners(self, record: Record, owners: Owners) -> None:
        """Keep what the next write of this object would have to decode again."""
        self._owners[record.key] = (record.revision, owners)
        self._owners.move_to_end(record.key)
        if len(self._owners) > _OWNERS_KEPT:
            self._owners.popitem(last=False)


def encode(resource: Resource, obj: Object, revision: int) -> bytes:
    """The stored form: identity first, so that a version can be swapped and list items can drop it by slicing."""
    obj["metadata"]["resourceVersion"] = str(revision)
    if resource.to_storage is not None:
        resource.to_storage(obj)
    return rendered(resource.stored_head, obj)


def rendered(head: bytes, obj: Object) -> bytes:
    """JSON that begins with the given identity."""
    return head + orjson.dumps({key: value for key, value in obj.items() if key not in _IDENTITY})[1:]


_IDENTITY = frozenset({"apiVersion", "kind"})


def stamp(seconds: float) -> str:
    """A time as Kubernetes writes it, which knows none after the year 9999."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(min(seconds, _LAST_SECOND)))


def new_uid() -> str:
    """An identity that no other object ever has."""
    return str(uuid.uuid4())


def metadata_of(obj: Object) -> dict[str, Any]:
    """The object's metadata, made if it has none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = obj["metadata"] = {}
    return metadata  # pyright: ignore[reportUnknownVariableType]
