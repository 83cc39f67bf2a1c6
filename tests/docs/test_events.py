"""The page of events names the reasons that the code has, and marks those that are decisions."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rayward.kinds.admission import Admission, Queueing
from rayward.net.client import HttpClient
from rayward.operator.ray.reach import DirectReach
from rayward.stack.composition import composed

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "rayward"
PAGE: Final = (ROOT / "docs" / "reference" / "events.md").read_text()

_ROW: Final = re.compile(r"^\|(?: \w+(?:, \w+)* \|)? (?:Normal|Warning) \| (.+?) \|", re.MULTILINE)
_REASON: Final = re.compile(r"[A-Z][a-z]+(?:[A-Z][A-Za-z]*)*")
_EMITS: Final = {"event", "_event", "record", "_record", "_emit", "Event", "Failure"}
"""Calls that take the reason of an event, or of the failure that becomes one."""
_CONDITIONS: Final = "conditions.py"
"""Failures there are reasons of conditions alone."""


def _modules(*rooms: str) -> Iterator[tuple[Path, ast.Module]]:
    for room in rooms:
        for path in sorted((SOURCE / room).rglob("*.py")):
            yield path, ast.parse(path.read_text())


def _texts(node: ast.AST) -> Iterator[str]:
    for found in ast.walk(node):
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            yield found.value


def _emitted() -> Iterator[tuple[str, str]]:
    """Reasons that are written where an event is recorded, each with its module."""
    for path, module in _modules("operator", "quota"):
        for call in ast.walk(module):
            if not isinstance(call, ast.Call) or path.name == _CONDITIONS:
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            for one in [*call.args, *(keyword.value for keyword in call.keywords)] if name in _EMITS else []:
                for part in [one.body, one.orelse] if isinstance(one, ast.IfExp) else [one]:
                    if isinstance(part, ast.Constant) and _REASON.fullmatch(_text(part)):
                        yield _text(part), path.name


def _text(constant: ast.Constant) -> str:
    return constant.value if isinstance(constant.value, str) else ""


def _named() -> set[str]:
    return {reason for row in _ROW.findall(PAGE) for reason in re.findall(r"`(\w+)`", row)}


def test_every_reason_in_the_code_is_on_the_page() -> None:
    missing = {(reason, where) for reason, where in _emitted() if reason not in {"Normal", "Warning", *_named()}}
    assert not missing


def test_every_reason_on_the_page_is_in_the_code() -> None:
    texts = {text for _, module in _modules("operator", "quota", "kinds", "local") for text in _texts(module)}
    assert "ReplicasNotStarted" in _named()

    def is_written(reason: str) -> bool:
        # some are put together: a verb and a kind
        cuts = [found.start() for found in re.finditer("[A-Z]", reason)][1:]
        return reason in texts or any(reason[:cut] in texts or reason[cut:] in texts for cut in cuts)

    assert {reason for reason in _named() if not is_written(reason)} == set()


async def _decisions() -> set[str]:
    async with HttpClient() as http:
        entries = composed(Queueing(Admission.EMBEDDED), "default")(DirectReach(http))
    return {reason for entry in entries for reason in entry.decisions}


def test_decisions_are_in_bold_and_nothing_else_is() -> None:
    bold = {reason for row in _ROW.findall(PAGE) for reason in re.findall(r"\*\*`(\w+)`\*\*", row)}
    assert bold == asyncio.run(_decisions())
