"""Dotted paths into JSON: `status.conditions[type=Ready].status`, `items[0].metadata`, `paths["api/v1"]`."""

from __future__ import annotations

import re
from typing import Any

ABSENT: Any = "<absent>"
_PART = re.compile(r'\["([^"]*)"\]|\[([^\]]*)\]|([^.\[\]]+)')


def find(value: Any, path: str) -> Any:
    """What lies at the path, or ABSENT; `[key=text]` picks the first item that has it."""
    for quoted, selector, plain in _PART.findall(path):
        name = quoted or plain
        if name:
            if not isinstance(value, dict) or name not in value:
                return ABSENT
            value = value[name]
        elif not isinstance(value, list):
            return ABSENT
        elif "=" in selector:
            key, _, wanted = selector.partition("=")
            value = next((item for item in value if str(find(item, key)) == wanted), ABSENT)
        else:
            value = value[int(selector)] if int(selector) < len(value) else ABSENT
    return value


def put(value: Any, path: str, new: Any) -> None:
    """Replaces what lies at the path; ABSENT removes it."""
    parent_path, _, last = path.rpartition(".")
    parent = find(value, parent_path) if parent_path else value
    if new is ABSENT:
        parent.pop(last, None)
    else:
        parent[last] = new
