"""The first ten minutes as the page has them: commands to run as they stand, each with the exit code that it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[2] / "docs" / "start" / "first-steps.md"
SECTION: Final = "A change, from prediction to undo"
_ASKS: Final = "$ echo $?"
_END: Final = "@@ended"


def steps() -> Iterator[tuple[str, int]]:
    """Each command, and the exit code that the page says it has."""
    _, found, text = PAGE.read_text().partition(f"## {SECTION}\n")
    assert found, f"the page has no section {SECTION}"
    text = text.partition("\n## ")[0]
    lines = [line for block in re.findall(r"```\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    for index, line in enumerate(lines):
        if line.startswith("$ ") and line != _ASKS:
            asked = lines[index + 1 : index + 2] == [_ASKS]
            yield line.removeprefix("$ "), int(lines[index + 2]) if asked else 0


def script(commands: Iterator[str]) -> str:
    """The commands for one shell, which says after each how it ended."""
    return "".join(f"{command}\necho {_END} $?\n" for command in commands)


def read(output: str, commands: list[tuple[str, int]]) -> Mapping[str, str]:
    """What each command said; each must have ended as the page says."""
    said: dict[str, str] = {}
    parts = re.split(rf"^{_END} (\d+)\n", output, flags=re.MULTILINE)
    for index, ((command, expected), text, code) in enumerate(zip(commands, parts[::2], parts[1::2], strict=False)):
        said[f"{index}. {command}"] = text
        assert int(code) == expected, f"{command} ended with {code} instead of {expected}\n{output}"
    assert len(said) == len(commands), output
    return said


def check(said: Mapping[str, str]) -> None:
    """What a reader is told to see."""

    def of(part: str) -> str:
        return next(text for command, text in said.items() if part in command)

    assert "NewCluster" in of("plan -f service.yaml")
    assert "second release" in of("history")
    assert "back to revision" in of("undo")
    assert "import_pth" in of("import_pth")
    assert "rolled back to revision" in of("nope:app")
    assert "blocked: Can never fit in ClusterQueue" in of("plan -f large.yaml")
    assert "blocked by quota; the previous revision keeps running" in of("apply -f large.yaml")
    assert "next: " in of("why")
    assert "second release" in of("timeline")
