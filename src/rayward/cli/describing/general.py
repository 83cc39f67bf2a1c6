"""An object of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

from rayward.cli.describing.common import tell_conditions, tell_events, tell_marks, tell_metadata
from rayward.cli.describing.paper import Paper
from rayward.cli.forms import to_yaml
from rayward.kube.machinery.jsonvalue import Object, section

_TOP = ("apiVersion", "kind", "metadata", "status")


def describe(obj: Object, events: Sequence[Object], now: datetime) -> str:
    """An object by its own fields, then its conditions and events."""
    paper = Paper()
    tell_metadata(paper, obj)
    paper.field("Kind", f"{obj.get('kind')} ({obj.get('apiVersion')})")
    paper.field("Created", section(obj, "metadata").get("creationTimestamp"))
    tell_marks(paper, obj)
    for name, value in obj.items():
        if name not in _TOP:
            _tell_field(paper, name, _veiled(obj, name, value))
    status = section(obj, "status")
    rest = {name: value for name, value in status.items() if name != "conditions"}
    if rest:
        _tell_field(paper, "status", rest)
    tell_conditions(paper, status.get("conditions") or [])
    tell_events(paper, events, now)
    return paper.text()


def _veiled(obj: Object, name: str, value: Any) -> Any:
    """What a secret holds is not for a screen: only how long it is."""
    if obj.get("kind") == "Secret" and name in ("data", "stringData") and isinstance(value, dict):
        return {key: f"{len(str(text)) * 3 // 4} bytes" for key, text in section(obj, name).items()}
    return value


def _tell_field(paper: Paper, name: str, value: Any) -> None:
    title = name[:1].upper() + name[1:]
    if not isinstance(value, dict | list):
        paper.field(title, value)
        return
    if not value:
        return
    paper.say(f"{title}:")
    for line in to_yaml(cast("Object", value)).splitlines():
        paper.say(line, 1)
