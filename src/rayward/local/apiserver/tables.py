"""Objects as rows of a table: what ``kubectl get`` asks for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, TypedDict

import msgspec
import orjson

from rayward.kube.machinery import table
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.media import Accept
from rayward.local.apiserver.resource import Resource


class _Metadata(TypedDict, total=False):
    """All but the managed fields: they are a third of a pod, and no row of a built-in kind shows them."""

    name: Any
    namespace: Any
    labels: Any
    annotations: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    generation: Any
    ownerReferences: Any


_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_METADATA: Final = msgspec.json.Decoder(_Metadata)
_ANY: Final = msgspec.json.Decoder()


def made(
    resource: Resource,
    wanted: Accept,
    include: str,
    values: Iterable[bytes],
    meta: Object,
    now: float,
    *,
    columns: bool = True,
) -> bytes:
    """A table of objects as JSON, with the kind's own columns."""
    moment = datetime.fromtimestamp(now, UTC)
    carried: Any = include  # checked by includes()
    glances = resource.builtin and include != "Object"

    def row(value: bytes) -> bytes:
        obj = _glance(value) if glances else orjson.loads(value)
        made = table.row(resource.layout, obj, now=moment, include=carried, version=wanted.version)
        if glances and made["object"] is not None:
            made["object"]["metadata"] = orjson.Fragment(obj[_WHOLE])
        if conditions := resource.behaviour.row_conditions(obj):
            made["conditions"] = conditions
        return orjson.dumps(made)

    # One row after the other: thousands of decoded objects at once are work for the garbage collector.
    whole = table.build(resource.layout, (), now=moment, metadata=meta, headers=columns, version=wanted.version)
    opening = orjson.dumps({name: value for name, value in whole.items() if name != "rows"})[:-1]
    return b"".join((opening, b',"rows":[', b",".join(map(row, values)), b"]}"))


_WHOLE: Final = ""
"""Where a glance keeps the bytes of all metadata: no object has a field without a name."""


def _glance(value: bytes) -> Object:
    """An object without what no row shows; its metadata as they are stored stay beside it."""
    fields = _FIELDS.decode(value)
    metadata = fields.pop("metadata")
    obj: Object = {name: _ANY.decode(field) for name, field in fields.items()}
    obj["metadata"] = _METADATA.decode(metadata)
    obj[_WHOLE] = bytes(metadata)
    return obj
