"""The exception in a Python traceback as Ray passes it on: its line, and the user's own frame.

A message may have many lines, and some of them look like an exception of their own; groups draw a frame around theirs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Final

RUNTIME_ENV: Final = "RuntimeEnvSetupError"
_TRACEBACK: Final = "Traceback (most recent call last)"
_SETUP: Final = "Failed to set up runtime environment"
_FRAME: Final = re.compile(r'^  File "([^"]+)", line (\d+)')
"""Two spaces deep, as Python prints it; programs that a message quotes are deeper."""
_FIRST_MEMBER: Final = re.compile(r"^[ |]*\+[-+]* 1 -+$")
_BORDER: Final = re.compile(r"^[ |]*\+[-+]+( \d+ -+)?$")
_MARGIN: Final = re.compile(r"^(?: *[|+])+ ?")
_PIP: Final = re.compile(r"^[^\S\n]*ERROR: (.+)$", re.MULTILINE)
"""A margin that ends with its line: else each of many empty lines is read to the end of them all."""
_VALIDATION: Final = re.compile(r"ValidationError: \d+ validation errors? for \S+$")
_STANDARD: Final = re.compile(r"/lib/python3\.\d+/(\w+)")
_NOT_THE_USERS: Final = ("/site-packages/", "/dist-packages/", "<frozen", "python/ray/_", "python/ray/serve/")


def exception_in(text: str) -> str:
    """In one line: the last exception of a text and where the user's code raised it; empty without a traceback."""
    if _SETUP in text:
        return _runtime_env(text)
    if _TRACEBACK not in text:
        return ""
    lines = _leaf(text[text.rindex(_outermost(text)) :].splitlines())
    raised = _raised(lines)
    where = _users_frame(lines) or _users_frame([_MARGIN.sub("", line) for line in text.splitlines()])
    return f"{raised} ({where})" if raised and where else raised


def _runtime_env(text: str) -> str:
    """What pip says last, or the innermost exception: what is around it is how Ray came to call it."""
    said = _PIP.findall(text)
    inner = text[text.index(_SETUP) :].partition("\n")[2]
    why = str(said[-1]).strip() if said else _raised(inner.splitlines())
    return f"{RUNTIME_ENV}: {why or _SETUP}"


def _outermost(text: str) -> str:
    """How the last traceback begins; of a group, the group's: its members have tracebacks of their own."""
    group = f"Exception Group {_TRACEBACK}"
    last = text.rfind(group)
    if last == -1:
        return _TRACEBACK
    after = text[last + len(group) :]
    # Every line of a group's members has a margin; a later exception has none.
    return _TRACEBACK if re.search(rf"^{re.escape(_TRACEBACK)}", after, re.MULTILINE) else group


def _leaf(lines: Sequence[str]) -> list[str]:
    """The lines of the exception that counts: of a group, its first member, or that one's first."""
    borders = [at for at, line in enumerate(lines) if _BORDER.match(line)]
    members = list(
        takewhile(
            lambda at: _FIRST_MEMBER.match(lines[at]), dropwhile(lambda at: not _FIRST_MEMBER.match(lines[at]), borders)
        )
    )
    if not members:
        return list(lines)
    ends = next((at for at in borders if at > members[-1]), len(lines))
    return [_MARGIN.sub("", line) for line in lines[members[-1] + 1 : ends]]


def _raised(lines: Sequence[str]) -> str:
    """The line of the exception: the first at the margin behind the last frame."""
    frames = [at for at, line in enumerate(lines) if _FRAME.match(line)]
    begins = [at for at, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    after = lines[max([*frames[-1:], *begins[-1:]], default=-1) + 1 :]
    rest = [line for line in after if line.strip()]
    at = next((index for index, line in enumerate(rest) if not line[0].isspace()), None)
    if at is None:
        return rest[-1].strip() if rest and not frames else ""
    said = rest[at].strip()
    if _VALIDATION.search(said):
        # pydantic: the field is in the next line, what is wrong with it in the one behind.
        said = said.removeprefix("pydantic_core._pydantic_core.")
        return ": ".join([said, *(line.strip() for line in rest[at + 1 : at + 3])])
    return " ".join([said, *(line.strip() for line in rest[at + 1 : at + 2])]) if said.endswith(":") else said


def _users_frame(lines: Sequence[str]) -> str:
    """The innermost frame that is neither Ray's nor a library's, as path and line."""
    found = [match for line in lines if (match := _FRAME.match(line)) is not None and _is_the_users(match[1])]
    return f"{found[-1][1]}:{found[-1][2]}" if found else ""


def _is_the_users(path: str) -> bool:
    standard = _STANDARD.search(path)
    if standard is not None and standard[1] in sys.stdlib_module_names:
        return False
    return not any(part in path for part in _NOT_THE_USERS)
