"""JSON patch: RFC 6902 as kube-apiserver applies it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import Object, is_list, is_object
from rayward.kube.machinery.patch.error import PatchError, json_kind, too_deep

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024

_is_index: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII).fullmatch
_escape: Final = re.compile("~[01]")
_UNESCAPED: Final = {"~0": "~", "~1": "/"}
_ABSENT: Final[Any] = object()


class _FailedError(Exception):
    """An operation does not apply; the text is the JSON patch library's."""


def apply(doc: Any, operations: Any) -> Any:
    """The document after all operations, or none of them.

    Raises:
        PatchError: The operations are malformed or too many (400, 413), or one does not apply (422).
    """
    decoded = _decode(operations)
    try:
        patching = _Patching(doc)
        for operation in decoded:
            patching.run(operation)
        return patching.doc
    except _FailedError as failed:
        raise PatchError.unprocessable(str(failed)) from None
    except RecursionError:
        raise too_deep() from None


def _decode(operations: Any) -> list[Object]:
    if operations is None:
        return []
    if not is_list(operations):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    decoded: list[Object] = []
    for operation in operations:
        if operation is not None and not is_object(operation):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        members: Object = operation or {}
        for key in ("op", "path", "from"):
            if not isinstance(members.get(key), str | None):
                raise _undecodable(members[key], f"struct field jsonPatchOp.{key} of type string")
        decoded.append(members)
    if len(decoded) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(decoded)}"
        raise PatchError.too_large(text)
    return decoded


def _undecodable(value: Any, target: str) -> PatchError:
    return PatchError.bad_request(f"error decoding patch: json: cannot unmarshal {json_kind(value)} into Go {target}")


class _Patching:
    """A document in the making: what it shares with the input is copied before its first change."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self._copied_bytes = 0
        # Containers made here, by identity; holding them keeps an identity from being given away again.
        self._own: dict[int, Any] = {}

    def run(self, operation: Object) -> None:
        name = operation.get("op")
        run = _OPERATIONS.get(name or "")
        if run is None:
            raise _FailedError(f"Unexpected kind: {'unknown' if name is None else name}")
        run(self, operation)

    def add(self, operation: Object) -> None:
        path = _pointer(operation, "add operation failed to decode path: missing value")
        missing = f'add operation does not apply: doc is missing path: "{path}": missing value'
        self._insert(path, operation.get("value"), missing, f"error in add for path: '{path}': ")

    def remove(self, operation: Object) -> None:
        path = _pointer(operation, "remove operation failed to decode path: missing value")
        container, key = self._find(
            path, f'remove operation does not apply: doc is missing path: "{path}": missing value'
        )
        self._take(container, key, f"error in remove for path: '{path}': ")

    def replace(self, operation: Object) -> None:
        path = _pointer(
            operation, "replace operation failed to decode path: operation missing path field: missing value"
        )
        value = operation.get("value")
        if path == "":
            if not is_object(value) and not is_list(value):
                raise _FailedError("replace operation value must be object or array: %!w(<nil>)")
            self.doc = value
            return
        container, key = self._find(
            path, f"replace operation does not apply: doc is missing path: {path}: missing value"
        )
        if is_object(container):
            container[key] = value
            return
        try:
            container[_index(key, len(container))] = value
        except _FailedError:
            text = f"replace operation does not apply: doc is missing key: {path}: missing value"
            raise _FailedError(text) from None

    def move(self, operation: Object) -> None:
        source = _pointer(
            operation, "move operation failed to decode from: operation, missing from field: missing value", "from"
        )
        container, key = self._find(
            source, f"move operation does not apply: doc is missing from path: {source}: missing value"
        )
        value = self._take(container, key, f"error in move for path: '{key}': ")
        path = _pointer(operation, "move operation failed to decode path: operation missing path field: missing value")
        missing = f"move operation does not apply: doc is missing destination path: {path}: missing value"
        self._insert(path, value, missing, f"error in move for path: '{path}': ")

    def copy(self, operation: Object) -> None:
        source = _pointer(
            operation, "copy operation failed to decode from: operation, missing from field: missing value", "from"
        )
        container, key = self._find(
            source, f"copy operation does not apply: doc is missing from path: {source}: missing value"
        )
        value = _member(container, key, f"error in copy for from: '{source}': ")
        path = _pointer(operation, "copy operation failed to decode path: missing value")
        value = self._duplicate(None if value is _ABSENT else value)
        missing = f"copy operation does not apply: doc is missing destination path: {path}: missing value"
        self._insert(path, value, missing, "error while adding value during copy: ")

    def test(self, operation: Object) -> None:
        path = _pointer(operation, "test operation failed to decode path: operation missing path field: missing value")
        if path == "":
            value = self.doc
        else:
            container, key = self._find(path, f"test operation does not apply: is missing path: {path}: missing value")
            value = _member(container, key, f"error in test for path: '{path}': ")
        # A member that is missing counts as null, on both sides.
        if not _same(None if value is _ABSENT else value, operation.get("value")):
            raise _FailedError(f"testing value {path} failed: test failed")

    def _find(self, pointer: str, missing: str) -> tuple[Any, str]:
        """The container that holds the last step of a pointer, ready to be changed, and that step."""
        steps = pointer.split("/")
        if len(steps) < 2:
            raise _FailedError(missing)
        keys = [_escape.sub(_unescaped, step) for step in steps[1:]]
        container = self.doc = self._owned(self.doc)
        for key in keys[:-1]:
            try:
                below = _member(container, key, "")
            except _FailedError:
                raise _FailedError(missing) from None
            if not is_object(below) and not is_list(below):
                raise _FailedError(missing)
            owned = self._owned(below)
            container[key if is_object(container) else _index(key, len(container))] = owned
            container = owned
        return container, keys[-1]

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        owned = container.copy()
        self._own[id(owned)] = owned
        return owned

    def _insert(self, path: str, value: Any, missing: str, problem: str) -> None:
        container, key = self._find(path, missing)
        if is_object(container):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            if not _is_index(key):
                raise _FailedError(f"{problem}value was not a proper array index: '{key}': {_not_a_number(key)}")
            container.insert(_index(key, len(container) + 1, problem), value)

    def _take(self, container: Any, key: str, problem: str) -> Any:
        value = _member(container, key, problem)
        if value is _ABSENT:
            raise _FailedError(f"{problem}Unable to remove nonexistent key: {key}: missing value")
        del container[key if is_object(container) else _index(key, len(container))]
        return value

    def _duplicate(self, value: Any) -> Any:
        if is_object(value):
            self._count(2 + sum(len(key) + 4 for key in value))
            return {key: self._duplicate(member) for key, member in value.items()}
        if is_list(value):
            self._count(2 + len(value))
            return [self._duplicate(item) for item in value]
        self._count(len(value) + 2 if isinstance(value, str) else len(str(value)))
        return value

    def _count(self, size: int) -> None:
        self._copied_bytes += size
        if self._copied_bytes > MAX_COPIED_BYTES:
            text = "Unable to complete the copy, the accumulated size increase of copy is "
            raise _FailedError(f"{text}{self._copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}")


_OPERATIONS: Final[dict[str, Callable[[_Patching, Object], None]]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def _pointer(operation: Object, missing: str, field: str = "path") -> str:
    pointer = operation.get(field)
    if pointer is None:
        raise _FailedError(missing)
    return pointer


def _unescaped(match: re.Match[str]) -> str:
    return _UNESCAPED[match.group()]


def _member(container: Any, key: str, problem: str) -> Any:
    if is_object(container):
        return container.get(key, _ABSENT)
    return container[_index(key, len(container), problem)]


def _index(key: str, length: int, problem: str = "") -> int:
    if not _is_index(key):
        raise _FailedError(problem + _not_a_number(key))
    index = int(key)
    if not -length <= index < length:
        raise _FailedError(f"{problem}Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + length


def _not_a_number(key: str) -> str:
    return f'strconv.Atoi: parsing "{key}": invalid syntax'


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if is_object(one):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if is_list(one):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
