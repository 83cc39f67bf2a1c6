"""Answers in protobuf as JSON shows them, by the server's own reader: it is held against Go's in tests of its own."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.protobuf import ProtobufError, decode
from rayward.local.apiserver.protobuf.plans import plan_of
from rayward.local.apiserver.protobuf.reader import BYTES, MESSAGE, MESSAGES, RAW, TEXT, Plan, read

MAGIC = b"k8s\0"
MEDIA = "application/vnd.kubernetes.protobuf"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def shown(body: bytes) -> Any:
    """The object of a body."""
    try:
        return decode(body)
    except ProtobufError as error:
        if not error.kind.startswith("PartialObjectMetadata"):
            raise
        raw = read(body, len(MAGIC), len(body), _ENVELOPE)["raw"]
        found = read(raw, 0, len(raw), _LIST if error.kind.endswith("List") else _ONE)
        return {"apiVersion": error.api_version, "kind": error.kind, **found}


def event(data: bytes) -> Any:
    """An event of a watch."""
    found = read(data, 0, len(data), _EVENT)
    return {"type": found["type"], "object": shown(found["object"]["raw"])}


_ONE = Plan("PartialObjectMetadata")
_ONE.add(1, BYTES, "metadata", MESSAGE, reader=plan_of(f"{_META}ObjectMeta"))
_LIST = Plan("PartialObjectMetadataList")
_LIST.add(1, BYTES, "metadata", MESSAGE, reader=plan_of(f"{_META}ListMeta"))
_LIST.add(2, BYTES, "items", MESSAGES, reader=_ONE)
_ENVELOPE = Plan("Unknown")
_ENVELOPE.add(2, BYTES, "raw", RAW, reader=bytes)
_OBJECT = Plan("RawExtension")
_OBJECT.add(1, BYTES, "raw", RAW, reader=bytes)
_EVENT = Plan("WatchEvent")
_EVENT.add(1, BYTES, "type", TEXT)
_EVENT.add(2, BYTES, "object", MESSAGE, reader=_OBJECT)
