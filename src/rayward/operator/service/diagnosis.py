"""The cause in what Ray reports: the exception's last line and the user's own frame, before the whole traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TRACEBACK: Final = "Traceback (most recent call last)"
_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')
_EXCEPTION: Final = re.compile(r"^[A-Za-z_][\w.]*(: .*)?$")
_NOT_THE_USERS: Final = (
    "/site-packages/",
    "/dist-packages/",
    "/lib/python3",
    "<frozen",
    "/ray/_private/",
    "/ray/serve/",
)


def plain(text: str) -> str:
    """Without the colour codes of a terminal."""
    return _COLOURS.sub("", text).strip()


def cause_of(text: str) -> str:
    """In one line: the exception and where the user's code raised it; empty where the text has no traceback."""
    text = plain(text)
    if _TRACEBACK not in text:
        return ""
    last = text[text.rindex(_TRACEBACK) :]
    lines = [line for line in last.splitlines()[1:] if line.strip()]
    raised = [line for line in lines if _EXCEPTION.fullmatch(line)]
    exception = raised[-1] if raised else (lines[-1].strip() if lines else "")
    frames = [
        (path, number) for path, number in _FRAME.findall(text) if not any(part in path for part in _NOT_THE_USERS)
    ]
    where = f" ({frames[-1][0]}:{frames[-1][1]})" if frames else ""
    return f"{exception}{where}"


def cause_first(text: str, limit: int) -> str:
    """The cause, then the end of the whole text, in at most ``limit`` characters."""
    whole, cause = plain(text), cause_of(text)
    if not cause:
        return whole[-limit:]
    head = cause[:limit]
    rest = limit - len(head) - 1
    return f"{head}\n{whole[-rest:]}" if rest > 0 else head


def message_of(message: str, deployments: Sequence[str]) -> str:
    """What an application reports, of its own message and those of its deployments: the one with a cause in it.

    A replica that never starts is reported by its deployment only; the application then says which deployments failed.
    """
    for text in (message, *deployments):
        if cause_of(text):
            return text
    return message or "; ".join(deployments)
