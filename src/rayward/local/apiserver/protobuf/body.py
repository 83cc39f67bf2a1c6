"""A body: an envelope that names the kind, and the object in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver import recorded
from rayward.local.apiserver.protobuf import writer
from rayward.local.apiserver.protobuf.plans import plan_of
from rayward.local.apiserver.protobuf.reader import BYTES, MESSAGE, RAW, TEXT, FaultError, Plan, read

MAX_BYTES: Final = 3 * 1024 * 1024
_MAGIC: Final = b"k8s\x00"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_IN_EVERY_GROUP: Final = frozenset({"DeleteOptions", "Status"})


class ProtobufError(Exception):
    """The body cannot be read.

    Attributes:
        kind: The kind that the body is of; empty if not even the envelope could be read.
        api_version: Its apiVersion.
    """

    def __init__(self, message: str, kind: str = "", api_version: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.api_version = api_version


def decode(data: bytes, api_version: str = "", kind: str = "") -> Object:
    """The object in a body of type ``application/vnd.kubernetes.protobuf``.

    Args:
        data: The body.
        api_version: What to take it for if the body does not say.
        kind: Likewise.

    Raises:
        ProtobufError: The body is malformed, or of a kind that is not known.
    """
    _check_frame(data)
    try:
        envelope: Object = read(data, len(_MAGIC), len(data), _ENVELOPE)
    except FaultError as fault:
        raise ProtobufError(str(fault)) from None
    identity: Object = envelope.get("typeMeta", {})
    api_version = identity.get("apiVersion") or api_version
    kind = identity.get("kind") or kind
    plan = _plan_of_kind(api_version, kind)
    raw: bytes = envelope.get("raw", b"")
    try:
        return {"apiVersion": api_version, "kind": kind, **read(raw, 0, len(raw), plan)}
    except FaultError as fault:
        raise ProtobufError(str(fault), kind, api_version) from None


def encode(obj: Object) -> bytes:
    """An object as a body of type ``application/vnd.kubernetes.protobuf``.

    Raises:
        ProtobufError: Objects of its kind have no such form.
    """
    api_version, kind = obj["apiVersion"], obj["kind"]
    if kind.startswith("PartialObjectMetadata"):
        raw = writer.partial(obj)
    else:
        raw = writer.message(obj, _type_of_kind(api_version, kind))
    return _MAGIC + writer.delimited(1, _identity(api_version, kind)) + writer.delimited(2, raw)


def encode_event(event: Object) -> bytes:
    """An event of a watch, its object in the same form.

    Raises:
        ProtobufError: Objects of its kind have no such form.
    """
    inner = writer.delimited(1, encode(event["object"]))
    return writer.delimited(1, event["type"].encode()) + writer.delimited(2, inner)


def _identity(api_version: str, kind: str) -> bytes:
    return writer.delimited(1, api_version.encode()) + writer.delimited(2, kind.encode())


def _check_frame(data: bytes) -> None:
    if not data:
        raise ProtobufError("empty data")
    if not data.startswith(_MAGIC):
        shown = " ".join(map(str, _MAGIC))
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{shown}]")
    if len(data) == len(_MAGIC):
        raise ProtobufError("empty body")
    if len(data) > MAX_BYTES:
        raise ProtobufError(f"proto: the body is larger than {MAX_BYTES} bytes")


def _plan_of_kind(api_version: str, kind: str) -> Plan:
    return plan_of(_type_of_kind(api_version, kind))


def _type_of_kind(api_version: str, kind: str) -> str:
    kinds = _types()
    type_name = kinds.get((api_version, kind))
    if type_name is None and kind in _IN_EVERY_GROUP and any(served == api_version for served, _ in kinds):
        type_name = f"{_META}{kind}"
    if type_name is None:
        text = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise ProtobufError(text, kind, api_version)
    return type_name


@cache
def _types() -> Mapping[tuple[str, str], str]:
    return {
        (f"{each['group']}/{each['version']}" if each["group"] else each["version"], each["kind"]): name
        for name, schema in recorded.schemas().items()
        for each in schema.get("x-kubernetes-group-version-kind", ())
    }


_IDENTITY: Final = Plan("TypeMeta")
_IDENTITY.add(1, BYTES, "apiVersion", TEXT)
_IDENTITY.add(2, BYTES, "kind", TEXT)
_ENVELOPE: Final = Plan("Unknown")
_ENVELOPE.add(1, BYTES, "typeMeta", MESSAGE, reader=_IDENTITY)
_ENVELOPE.add(2, BYTES, "raw", RAW, reader=bytes)
