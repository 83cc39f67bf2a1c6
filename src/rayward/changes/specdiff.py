"""What an edit changed in a spec, as lines for a record: each field with the value before and after.

A record outlives the object and is handed around, so its lines are bounded, and what looks like a secret is left out of
them. References to Secrets are none.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from rayward.kinds.effects import differences
from rayward.kinds.serveconfig import ServeConfigError
from rayward.kinds.serveconfig.reading import read
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

HIDDEN: Final = "(hidden)"
_LINES, _PATH, _VALUE, _LOOKED_AT = 12, 160, 80, 1000
"""The most lines, and the most characters of a path, of a value, and of a text that is searched for secrets."""
_DOCUMENTS: Final = frozenset({"serveConfigV2", "runtimeEnvYAML"})
"""Fields whose text is YAML: their fields are compared, and not the text."""
_REFERENCE: Final = re.compile(r"secret(Name|Ref|KeyRef)?|imagePullSecrets|\w*serviceAccountToken", re.IGNORECASE)
_WORDS: Final = r"pass(?:word|wd|phrase)|secret|token(?!i[sz])|credential|(?:api|access|private|signing)[-_]?key"
_names_secret: Final = re.compile(_WORDS, re.IGNORECASE).search
_said: Final = re.compile(rf"((?:{_WORDS})[\w-]*[\"']?\s*[=:]\s*|://[^\s/:@]*:)[^\s@\"']+", re.IGNORECASE)


def spec_diff(before: Object, after: Object) -> str:
    """A line for each field that differs, the first of them where there are many; empty where nothing does.

    Args:
        before: The spec of the generation before.
        after: The spec that was asked for.
    """
    found = list(differences(_opened(before), _opened(after), ("spec",)))
    lines: list[str] = []
    for one in found[:_LINES]:
        names = [part.strip("[]") for part in one.segments]
        old, new = (_shown(names, value) for value in (one.old, one.new))
        order = "order " if one.reordered else ""
        lines.append(f"{_cut(one.path, _PATH)}: {order}{old} -> {new}")
    if len(found) > _LINES:
        lines.append(f"and {len(found) - _LINES} more fields")
    return "\n".join(lines)


def _opened(value: Any, name: str = "") -> Any:
    """A value with the documents in it as what they say; one that is no YAML stays a text."""
    if is_object(value):
        return {key: _opened(part, key) for key, part in value.items()}
    if is_list(value):
        return [_opened(part) for part in value]
    if name in _DOCUMENTS and isinstance(value, str):
        try:
            return read(value, may_be_program=False).value
        except ServeConfigError:
            return value
    return value


def _shown(names: list[str], value: Any) -> str:
    """A value at the end of a way, as YAML would have it on one line."""
    # of a variable the name is the item's, and the value its field
    name = names[-2] if names[-1] == "value" and len(names) > 1 else names[-1]
    value = _veiled(value, name)
    if value is None:
        return "(none)"
    return _cut(value if isinstance(value, str) and value.isprintable() and value else _json(value), _VALUE)


def _veiled(value: Any, name: str = "") -> Any:
    if is_object(value):
        told = value.get("name")
        parts = {key: _veiled(part, key) for key, part in value.items()}
        if isinstance(told, str) and _is_secret(told) and isinstance(value.get("value"), str):
            parts["value"] = HIDDEN
        return parts
    if is_list(value):
        return [_veiled(part, name) for part in value]
    if not isinstance(value, str) or not value:
        # max_tokens is a number, and no secret
        return value
    return HIDDEN if _is_secret(name) else _said.sub(rf"\1{HIDDEN}", value[:_LOOKED_AT])


def _is_secret(name: str) -> bool:
    return _names_secret(name) is not None and _REFERENCE.fullmatch(name) is None


def _json(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
