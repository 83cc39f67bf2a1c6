"""Recorded output of sessions, and how what a server gives differs from it."""

from __future__ import annotations

import copy
import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from tests.contract import paths, recording
from tests.contract.kubectl import sessions as session_modules
from tests.contract.kubectl.play import Output
from tests.contract.kubectl.session import Session

THEME = "kubectl"

_COMMANDS, _LINES = 4, 12  # shown of what differs


def sessions() -> list[Session]:
    """All sessions, checked to have names of their own."""
    found: list[Session] = []
    for module in sorted(pkgutil.iter_modules(session_modules.__path__), key=lambda module: module.name):
        found += importlib.import_module(f"{session_modules.__name__}.{module.name}").SESSIONS
    if len({session.name for session in found}) != len(found):
        raise ValueError("two sessions of one name")
    return found


def problems(session: Session, recorded: Mapping[str, Any], outputs: list[Output], *, ours: bool) -> str:
    """What differs, command by command, to read; empty when nothing does."""
    entry = recorded.get(session.name, {})
    if entry.get("digest") != session.digest:
        return f"FAIL {session.name}\n  no recording of the session as it is now"
    expected = copy.deepcopy(entry["outputs"])
    if ours:
        for index, changes in session.ours.items():
            for path, value in changes.items():
                paths.put(expected[index], path, value)
    differing = [
        [f"  $ kubectl {command.line}", *(f"    {line}" for line in _difference(want, have))]
        for command, want, have in zip(session.commands, expected, outputs, strict=True)
        if want != have
    ]
    if not differing:
        return ""
    # What fails first is most often the cause of the rest.
    lines = [line for each in differing[:_COMMANDS] for line in each]
    rest = [f"  ... and {len(differing) - _COMMANDS} more commands"] if len(differing) > _COMMANDS else []
    return "\n".join([f"FAIL {session.name}", *lines, *rest])


def shown(session: Session) -> str:
    """A session and its recorded output, to read."""
    outputs = recording.load(THEME).get(session.name, {}).get("outputs", [])
    text = [f"# {session.name}"]
    for command, output in zip(session.commands, outputs, strict=False):
        text += [f"$ kubectl {command.line}", *_printed(output)]
    return "\n".join(text)


def _difference(want: Output, have: Output) -> list[str]:
    lines = difflib.unified_diff(_printed(want), _printed(have), lineterm="", n=1)
    shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return shown if len(shown) <= _LINES else [*shown[:_LINES], f"... and {len(shown) - _LINES} more lines"]


def _printed(output: Output) -> list[str]:
    exit_code = [] if output["exit"] == 0 else [f"[exit {output['exit']}]"]
    return [*output["stdout"], *(f"stderr: {line}" for line in output["stderr"]), *exit_code]
