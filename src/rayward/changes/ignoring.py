"""Which files of a folder are left out, by the rules of ``.gitignore`` and ``.rayignore``.

A later rule counts before an earlier one and a folder's own file before those above it, as git has it. A folder that
is left out is not entered, so nothing below it can be taken back in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

FILES: Final = (".gitignore", ".rayignore")
"""In this order: what ``.rayignore`` says counts before ``.gitignore``."""
ALWAYS: Final = (".git", ".hg", ".svn", ".venv", "venv", "__pycache__", "node_modules", "*.py[co]", ".DS_Store")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: what it matches below ``base``, and whether that is left out or taken back in."""

    base: str
    pattern: re.Pattern[str]
    folders_only: bool
    excludes: bool

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the rule speaks of ``path``, which is relative to the root and has no slash at either end."""
        if self.folders_only and not is_folder:
            return False
        if self.base and not path.startswith(f"{self.base}/"):
            return False
        return self.pattern.fullmatch(path[len(self.base) + 1 :] if self.base else path) is not None


def parse(lines: Iterable[str], base: str = "") -> tuple[Rule, ...]:
    """The rules of one file in the folder ``base``; lines that mean nothing are passed over."""
    return tuple(rule for line in lines if (rule := _rule(line, base)) is not None)


def is_ignored(rules: Iterable[Rule], path: str, *, is_folder: bool) -> bool:
    """Whether the last rule that speaks of a path leaves it out."""
    ignored = False
    for rule in rules:
        if rule.matches(path, is_folder=is_folder):
            ignored = rule.excludes
    return ignored


def _rule(line: str, base: str) -> Rule | None:
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    excludes = not text.startswith("!")
    text = text if excludes else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    # A slash before the end ties the pattern to its folder; without one it matches at any depth.
    anchored = "/" in text
    text = text.lstrip("/")
    if not text:
        return None
    try:
        pattern = re.compile(_expression(text if anchored else f"**/{text}"), re.DOTALL)
    except re.error:
        return None
    return Rule(base, pattern, folders_only, excludes)


def _expression(glob: str) -> str:
    parts: list[str] = []
    place = 0
    while place < len(glob):
        rest = glob[place:]
        at_start = place == 0 or glob[place - 1] == "/"
        if at_start and rest.startswith("**/"):
            parts.append("(?:[^/]+/)*")
            place += 3
        elif at_start and rest == "**":
            parts.append(".+")
            place += 2
        elif rest.startswith("*"):
            parts.append("[^/]*")
            place += 1
        elif rest.startswith("?"):
            parts.append("[^/]")
            place += 1
        elif rest.startswith("[") and (end := glob.find("]", place + 2)) > 0:
            inner = glob[place + 1 : end].replace("\\", "\\\\")
            parts.append(f"[{'^' + inner[1:] if inner.startswith('!') else inner}]")
            place = end + 1
        elif rest.startswith("\\") and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            place += 2
        else:
            parts.append(re.escape(rest[0]))
            place += 1
    return "".join(parts)
