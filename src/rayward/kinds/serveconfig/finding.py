"""What is wrong with a configuration, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or odd; line and column count from 1 and are 0 where no text was given."""

    message: str
    path: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}" if self.line else self.path
        return f"{place}: {self.message}" if place else self.message


class ServeConfigError(Exception):
    """The configuration cannot be deployed; every reason, in the order of the text."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(str(finding) for finding in findings))
        self.findings = tuple(findings)


def written(path: Path) -> str:
    """``applications[0].name``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
