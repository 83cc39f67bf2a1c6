"""The mark of what was last applied to an object, kept on the object itself.

A mark is a hash of what was written and its outline. The hash is compared instead of the object, which servers and
webhooks complete. The outline says what to remove when it is no longer wanted; whatever others added is not in it and
stays. Unlike server-side apply this costs the server no ownership bookkeeping, for objects that one controller writes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from rayward.kube.core.objects import KubeObject
from rayward.kube.machinery.jsonvalue import Object, is_object

_LARGEST: Final = 16 * 1024
"""An API server takes 256 KiB of annotations, and an ingress has a copy of its cluster's. Of a larger outline the hash
alone is kept: then nothing is removed."""
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class _Applied(msgspec.Struct, frozen=True):
    hash: str
    outline: Object


class _Hash(msgspec.Struct, frozen=True):
    hash: str = ""


@dataclass(frozen=True)
class AppliedMark:
    """Marks under one annotation: two controllers that write one kind do not take each other's marks for theirs."""

    annotation: str

    def is_marked(self, found: KubeObject) -> bool:
        """Whether this controller wrote the object."""
        return bool(found.metadata.annotation(self.annotation))

    def matches(self, found: KubeObject, body: Object) -> bool:
        """Whether ``body`` is what was last written."""
        text = found.metadata.annotation(self.annotation)
        if not text:
            return False
        try:
            known = msgspec.json.decode(text, type=_Hash).hash
        except msgspec.DecodeError:
            known = text
        return known == _digest(_content(body))

    def marked(self, body: Object) -> Object:
        """The object to create."""
        metadata: Object = body["metadata"]
        annotations: Object = {**(metadata.get("annotations") or {}), self.annotation: self.mark(body)}
        return {**body, "metadata": {**metadata, "annotations": annotations}}

    def change(self, found: KubeObject, body: Object) -> Object:
        """The merge patch from ``found`` to ``body``: null for what was applied and is no longer wanted."""
        change = _over(self.outline(found) or {}, _content(self.marked(body)))
        change["metadata"]["uid"] = found.metadata.uid
        return change

    def mark(self, body: Object) -> str:
        """The annotation's value: lists and the values of annotations are not in the outline."""
        content = _content(body)
        digest = _digest(content)
        outline: Object = _outlined(content)
        outline["metadata"]["annotations"] = dict.fromkeys(content["metadata"]["annotations"])
        text = _encoder.encode(_Applied(digest, outline)).decode()
        return text if len(text) <= _LARGEST else digest

    def outline(self, found: KubeObject) -> Object | None:
        """What was written last; None where nobody knows: another operator wrote it, or an older version of this."""
        try:
            return msgspec.json.decode(found.metadata.annotation(self.annotation), type=_Applied).outline
        except msgspec.DecodeError:
            return None


def _digest(content: Object) -> str:
    return hashlib.sha256(_encoder.encode(content)).hexdigest()[:16]


def _content(body: Object) -> Object:
    """What follows the spec: not the owner, by whom the object was found."""
    metadata: Object = body["metadata"]
    content: Object = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    content["metadata"] = {part: metadata.get(part) or {} for part in ("labels", "annotations")}
    return content


def _outlined(value: Any) -> Any:
    if is_object(value):
        return {name: _outlined(part) for name, part in value.items()}
    return None if isinstance(value, list) else value


def _over(before: Object, wanted: Object) -> Object:
    change: Object = {name: None for name in before if name not in wanted}
    for name, value in wanted.items():
        old = before.get(name)
        change[name] = _over(old, value) if is_object(old) and is_object(value) else value
    return change
