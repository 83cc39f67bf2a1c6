"""Plain dotted paths such as ``.spec.replicas``, as scale subresources name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery.jsonvalue import Object, is_object


@dataclass(frozen=True, slots=True)
class DottedPath:
    """The members to walk, from the top."""

    keys: tuple[str, ...]

    def get(self, doc: Object) -> Any:
        """The value at the path, None when it or a member on the way is missing."""
        value: Any = doc
        for key in self.keys:
            if not is_object(value):
                return None
            value = value.get(key)
        return value

    def set(self, doc: Object, value: Any) -> Object:
        """A document with the value at the path that shares everything else; missing objects are made."""
        return _with(doc, self.keys, value)


def parse(text: str) -> DottedPath:
    """Read a path, with or without its leading dot."""
    return DottedPath(tuple(text.removeprefix(".").split(".")))


def check(text: str) -> list[str]:
    """What keeps a text from being a simple path, in Kubernetes' words."""
    if not text:
        return ["must not be empty"]
    return [] if text.startswith(".") else ["must be a simple json path starting with ."]


def _with(doc: Any, keys: tuple[str, ...], value: Any) -> Object:
    copy = dict(doc) if is_object(doc) else {}
    copy[keys[0]] = value if len(keys) == 1 else _with(copy.get(keys[0]), keys[1:], value)
    return copy
