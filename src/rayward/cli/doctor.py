"""``rayward doctor``."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from rayward.cli import checks
from rayward.cli.checks import Verdict
from rayward.cli.output import answer, answer_json, data_option, folder_of, output_option

_MARKS = {Verdict.OK: ("ok  ", "green"), Verdict.WARN: ("warn", "yellow"), Verdict.FAIL: ("FAIL", "red")}


@click.command("doctor")
@data_option
@output_option
def command(data: Path | None, form: str) -> int:
    """Check whether pods can run on this machine; print the command that fixes what is missing. Exits with 1 if not.

    \b
    Examples:
      rayward doctor
      rayward doctor -o json
    """  # noqa: D301 -- click reads the backspace
    found = checks.all_of(folder_of(data))
    bad = any(check.verdict is Verdict.FAIL for check in found)
    if form == "json":
        listed = [msgspec.to_builtins(check) for check in found]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "Diagnosis", "healthy": not bad, "checks": listed})
        return int(bad)
    for check in found:
        mark, colour = _MARKS[check.verdict]
        answer(f"{click.style(mark, fg=colour)}  {check.name:<16}{check.found}")
        if check.remedy:
            answer(f"{'':<22}→ {check.remedy}")
    return int(bad)
