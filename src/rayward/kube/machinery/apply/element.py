"""Path elements: one step into an object, spelled as FieldsV1 spells it.

The spelling is canonical, so that two steps are the same if and only if their texts are: keys sorted, numbers as Go
writes them (1 and 1.0 are one number, true is none), strings escaped one way.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from rayward.kube.machinery.apply.values import ARRAY, OBJECT
from rayward.kube.machinery.gotext import float_text, json_name, json_text, quoted

INVALID: Final = ""
"""The step to a list item that has no key; it is on no path of a well-formed set."""

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")
_CACHED: Final = 8192

_canonical: dict[str, str] = {}


class BadElementError(ValueError):
    """A text that is no path element."""


def field(name: str) -> str:
    """The step to a field of an object."""
    return "f:" + name


def value(item: Any) -> str:
    """The step to an item of a set."""
    return "v:" + json_text(item)


def key(fields: dict[str, Any]) -> str:
    """The step to a list item with these key fields."""
    return "k:{" + ",".join(f"{json_name(name)}:{json_text(fields[name])}" for name in sorted(fields)) + "}"


def canonical(text: str) -> str | None:
    """The one spelling of this element, or None if it is of a kind that is not known here.

    Raises:
        BadElementError: the text is no element at all.
    """
    if text.startswith("f:"):
        return text
    known = _canonical.get(text)
    if known is None:
        known = _parse(text)
        if known is not None and len(text) <= 256:
            if len(_canonical) >= _CACHED:
                _canonical.clear()
            _canonical[text] = known
    return known


def text_of(step: str) -> str:
    """The element as part of a path for people: ``.spec``, ``[name="x"]``, ``[="v"]``, ``[0]``."""
    kind, rest = step[:2], step[2:]
    if kind == "f:":
        return "." + rest
    if kind == "i:":
        return f"[{rest}]"
    content = json.loads(rest)
    if kind == "v:":
        return f"[={_value_text(content)}]"
    return "[" + ",".join(f"{name}={_value_text(content[name])}" for name in sorted(content)) + "]"


def order(step: str) -> tuple[Any, ...]:
    """A sort key: fields by name, then keys, then values, then indices."""
    kind, rest = step[:2], step[2:]
    if kind == "f:":
        return (0, rest)
    if kind == "k:":
        content = json.loads(rest)
        return (1, tuple((name, _value_order(content[name])) for name in sorted(content)))
    return (2, _value_order(json.loads(rest))) if kind == "v:" else (3, int(rest))


def _parse(text: str) -> str | None:
    if len(text) < 2 or text[1] != ":":
        raise BadElementError(text)
    kind, rest = text[0], text[2:]
    if kind == "i":
        if not _INDEX.fullmatch(rest):
            raise BadElementError(text)
        return f"i:{int(rest)}"
    if kind not in "kv":
        return None
    try:
        content = json.loads(rest)
        if kind == "k" and type(content) is not OBJECT:
            raise BadElementError(text)
        spelled = value(content) if kind == "v" else key(content)
        spelled.encode()
    except ValueError as error:
        raise BadElementError(text) from error
    return spelled


def _value_text(content: Any) -> str:
    if content is None:
        return "null"
    if isinstance(content, str):
        return quoted(content)
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, int | float):
        # Kubernetes reads the numbers of stored managed fields as float64.
        return float_text(float(content))
    if type(content) is ARRAY:
        return "[" + ",".join(_value_text(item) for item in content) + "]"
    return "".join(f"{name}={_value_text(content[name])}" for name in sorted(content))


def _value_order(content: Any) -> tuple[Any, ...]:
    if isinstance(content, bool):
        return (2, content)
    if isinstance(content, int | float):
        return (0, content)
    if isinstance(content, str):
        return (1, content)
    return (4,) if content is None else (3, json_text(content))
