"""The form in which kube-apiserver holds objects inside, where its error texts show it.

Refusals quote Go structs: field names of their own, in order, with every empty value. ``inner.json.gz`` holds that
structure as the Go program in tools/internaltypes printed it.
"""

from __future__ import annotations

import difflib
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Reason
from rayward.local.apiserver.builtin.empty import NOTHING

_EMPTY: Mapping[str, Any] = {"string": "", "int": 0, "bool": False, "quantity": "0", "time": None, "intstr": 0}
_MOVED = {
    "HostNetwork": "hostNetwork",
    "HostPID": "hostPID",
    "HostIPC": "hostIPC",
    "ShareProcessNamespace": "shareProcessNamespace",
    "HostUsers": "hostUsers",
}


@cache
def _structures() -> Mapping[str, Sequence[Sequence[Any]]]:
    packed = (Path(__file__).parent / "inner.json.gz").read_bytes()
    return json.loads(gzip.decompress(packed))


def inner(kind: str, value: Any) -> Any:
    """A value of a type such as ``PodSpec``, ``[]Toleration`` or ``*string`` in its inner form."""
    if kind.startswith("*"):
        return None if value is None else inner(kind[1:], value)
    if kind.startswith("[]"):
        return None if not value else [inner(kind[2:], item) for item in value]
    if kind.startswith("map"):
        return None if not value else {key: inner(kind[3:], value[key]) for key in sorted(value)}
    fields = _structures().get(kind)
    if fields is None:
        return _EMPTY.get(kind) if value is None else value
    result: dict[str, Any] = {}
    for name, source, of, *omit in fields:
        held = _at(value, source)
        if omit and not held and (held is None or not of.startswith("*")):
            continue
        result[name] = inner(of, held)
    if kind == "PodSpec":
        _move_host_namespaces(result, value or NOTHING)
    return result


def _at(value: Any, source: str) -> Any:
    for part in source.split("."):
        value = value.get(part) if value is not None else None
    return value


def _move_host_namespaces(result: dict[str, Any], spec: Mapping[str, Any]) -> None:
    context: dict[str, Any] | None = result["SecurityContext"]
    if context is None and any(spec.get(source) is not None for source in _MOVED.values()):
        context = result["SecurityContext"] = inner("PodSecurityContext", {})
    if context is None:
        return
    for name, source in _MOVED.items():
        context[name] = spec.get(source, False if name in ("HostNetwork", "HostPID", "HostIPC") else None)


def go_json(value: Any, indent: int | None = None) -> str:
    """JSON as Go writes it."""
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(value, separators=separators, ensure_ascii=False, indent=indent)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shown(kind: str, value: Any, at: str, text: str) -> FieldError:
    """An invalid value that is a struct."""
    return FieldError(Reason.INVALID, at, detail=f"{go_json(inner(kind, value))}: {text}")


def duplicated(kind: str, value: Any, at: str, text: str = "") -> FieldError:
    """A duplicate value that is a struct."""
    detail = go_json(inner(kind, value))
    return FieldError(Reason.DUPLICATE, at, detail=f"{detail}: {text}" if text else detail)


def difference(kind: str, old: Any, new: Any) -> str:
    """A unified diff of two values in their inner form."""
    before, after = (f"{go_json(inner(kind, value), 1)}\n".splitlines(keepends=True) for value in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])
