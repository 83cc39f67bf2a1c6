"""What a child was last brought to, as it says itself: so that what the spec takes back is taken from it again."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from rayward.kube.core.objects import KubeObject

APPLIED: Final = "rayward.dev/applied"
"""On a child: a hash of what was written, and its outline. Compared instead of the child, which servers and webhooks
fill in; only what is in the outline is ever removed, so that everybody else's additions stay."""

Object = dict[str, Any]

_LARGEST: Final = 16 * 1024
"""An API server takes 256 KiB of annotations, and an ingress has a copy of its cluster's. Of a larger outline the hash
alone is kept: then nothing is removed."""
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class Applied(msgspec.Struct, frozen=True):
    """What was written: lists and the values of annotations are left out."""

    hash: str
    outline: Object


def mark(body: Object) -> str:
    """The annotation of a child that is brought to ``body``."""
    content = _content(body)
    digest = hashlib.sha256(_encoder.encode(content)).hexdigest()[:16]
    outline: Object = _outlined(content)
    outline["metadata"]["annotations"] = dict.fromkeys(content["metadata"]["annotations"])
    text = _encoder.encode(Applied(digest, outline)).decode()
    return text if len(text) <= _LARGEST else digest


def marked(body: Object) -> Object:
    """The child to make."""
    metadata: Object = body["metadata"]
    annotations: Object = {**(metadata.get("annotations") or {}), APPLIED: mark(body)}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def outline_of(found: KubeObject) -> Object | None:
    """What was written last; None where nobody knows: another operator wrote it, or an older version of this one."""
    try:
        return msgspec.json.decode(found.metadata.annotation(APPLIED), type=Applied).outline
    except msgspec.DecodeError:
        return None


def change_to(body: Object, found: KubeObject) -> Object:
    """The merge patch that brings ``found`` to ``body``; null takes away what was applied and is no longer wanted."""
    change = _over(outline_of(found) or {}, _content(marked(body)))
    change["metadata"]["uid"] = found.metadata.uid
    return change


def _content(body: Object) -> Object:
    """What follows the spec: not the owner, by whom the child was found."""
    metadata: Object = body["metadata"]
    content: Object = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    content["metadata"] = {part: metadata.get(part) or {} for part in ("labels", "annotations")}
    return content


def _outlined(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _outlined(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return None if isinstance(value, list) else value


def _over(before: Object, wanted: Object) -> Object:
    change: Object = {name: None for name in before if name not in wanted}
    for name, value in wanted.items():
        old = before.get(name)
        change[name] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType]
    return change
