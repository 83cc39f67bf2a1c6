"""Request bodies of any format that a kind takes: JSON and YAML, and protobuf where it is built in."""

from __future__ import annotations

from collections.abc import Callable

from rayward.kube.machinery.decoding import Body, decode_json, decode_yaml
from rayward.local.apiserver import media, status
from rayward.local.apiserver.behaviour import Object


def decode(data: bytes, content_type: str, *, strict: bool, protobuf: Callable[[bytes], Object] | None) -> Body:
    """The object in a create or update body. Built-in kinds give their ``protobuf`` decoder."""
    kind = media.essence(content_type) if content_type else media.JSON
    if kind == media.JSON:
        return decode_json(data, strict=strict)
    if kind == media.YAML:
        return decode_yaml(data, strict=strict)
    if kind == media.PROTOBUF and protobuf is not None:
        return Body(protobuf(data), [])
    offered = media.OFFERED if protobuf is not None else media.OFFERED[:2]
    raise status.unsupported_media_type(offered)
