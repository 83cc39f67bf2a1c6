"""The cause in what Ray reports: the exception's last line, the user's own frame, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import is_list, is_object, section
from rayward.operator.ray.answers import Application
from rayward.operator.service.exception import RUNTIME_ENV, exception_in

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_DIED: Final = re.compile(r"Error:\n(?:ActorDiedError|ActorUnavailableError|WorkerCrashedError|The actor died)")
"""What Ray says of a replica whose process died; there is no traceback."""
_HEALTHY: Final = "HEALTHY"
_LONGEST: Final = 800
_DETAIL: Final = 24_000
"""A condition's message has room for 32,768 characters, and there is a line before it."""
_CUT: Final = "[the first {} lines are left out; the log of Serve's controller on the head has them]"
_HINT: Final = "Correct the code or the Serve config and apply it again"
_ENDED: Final = "ran out of memory, called exit or crashed in native code"
_HINTS: Final = (
    ("ray.exceptions.WorkerCrashedError", f"The process that imported the code {_ENDED}"),
    ("ModuleNotFoundError", "Add the module to the image or to runtime_env, or correct the import"),
    (RUNTIME_ENV, "Correct runtime_env in the Serve config and apply it again"),
    ("AttributeError", "Correct import_path or the code and apply it again"),
)


def plain(text: str) -> str:
    """Without the colour codes of a terminal."""
    return _COLOURS.sub("", text).strip()


def cause_of(text: str) -> str:
    """In one line: the exception and where the user's code raised it; empty where the text has no traceback."""
    return exception_in(plain(text))


def tells_failure(text: str) -> bool:
    """Whether it is of a replica that did not start: its code raised, or its process died."""
    return bool(cause_of(text) or _DIED.search(text))


def summary(text: str, service: str) -> str:
    """One line for a condition: the cause, and what to do about it; without a traceback, the end of the text."""
    cause = cause_of(text)
    if not cause and _DIED.search(text):
        logs = f"; its log: rayward logs rayservice/{service}" if service else ""
        return f"The process of a replica died before it was ready. It {_ENDED}{logs}"
    if not cause:
        return " ".join(plain(text).split())[-_LONGEST:]
    hint = next((hint for exception, hint in _HINTS if cause.startswith(exception)), _HINT)
    whole = f"; whole traceback: rayward describe rayservice {service}" if service else ""
    return f"{cause[:_LONGEST].rstrip('.')}. {hint}{whole}"


def detail_of(text: str) -> str:
    """The whole of a text that has a traceback; of one too long for a condition its last lines; empty for others."""
    if not cause_of(text):
        return ""
    whole = plain(text)
    if len(whole) <= _DETAIL:
        return whole
    kept = whole[-_DETAIL:].partition("\n")[2]
    left_out = whole.removesuffix(kept).count("\n")
    return f"{_CUT.format(left_out)}\n{kept}"


def message_of(message: str, deployments: Sequence[str]) -> str:
    """What an application reports, of its own message and those of its deployments: the one with a cause in it.

    A replica that never starts is reported by its deployment only; the application then says which deployments failed.
    """
    for text in (message, *deployments):
        if cause_of(text):
            return text
    return next((text for text in deployments if tells_failure(text)), message or "; ".join(deployments))


def waits_for(app: Application) -> str:
    """What happens in an application that starts, where Ray says nothing: it does so only after half a minute."""
    starting = [name for name, found in sorted(app.deployments.items()) if found.status != _HEALTHY]
    if starting:
        return f"replicas of deployment {', '.join(starting)} are starting"
    if app.deployments:
        return ""
    packages = _pip_packages(app)
    environment = f"{packages} (a failure is told after 3 attempts)" if packages else "its runtime_env"
    return f"Ray installs {environment} or imports its code"


def _pip_packages(app: Application) -> str:
    pip: Any = section(section(app.deployed_app_config or {}, "runtime_env"), "pip")
    packages: Any = pip.get("packages") if is_object(pip) else pip
    return f"pip packages {', '.join(map(str, packages))}" if is_list(packages) else ""
