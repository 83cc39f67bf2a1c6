"""``rayward status``."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from rayward.cli.output import answer, answer_json, data_option, folder_of, output_option
from rayward.stack import control, state
from rayward.stack.state import PartState


@click.command("status")
@data_option
@output_option
def command(data: Path | None, form: str) -> int:
    """Show the processes of the local stack. Exits with 1 when nothing runs.

    \b
    Examples:
      rayward status
      rayward status -o json
    """  # noqa: D301 -- click reads the backspace
    folder = folder_of(data)
    supervised = control.status(folder)
    seen = supervised or state.unsupervised(folder)
    if form == "json":
        answer_json(
            {
                "apiVersion": "cli.rayward/v1",
                "kind": "Status",
                "running": seen is not None,
                "supervised": supervised is not None,
                "dataDir": str(folder.root),
                "kubeconfig": str(folder.kubeconfig) if seen is not None else None,
                "stack": msgspec.to_builtins(seen) if seen is not None else None,
            }
        )
        return 0 if seen is not None else 1
    if seen is None:
        answer(f"nothing runs in {folder.root}; start it with: rayward up")
        return 1
    answer(f"{'PART':<14}{'PHASE':<10}{'PID':<9}{'RESTARTS':<10}LAST END")
    for part in seen.parts:
        answer(f"{part.name:<14}{part.phase:<10}{part.pid or '-':<9}{part.restarts:<10}{last_end(part, time.time())}")
        if part.words:
            answer(f"{'':<14}last log line: {part.words}")
    if supervised is None:
        answer("warning: the supervisor was killed; these parts run without it, and none is restarted if it ends")
        answer("  next: rayward up   # adopts them; rayward down ends them")
    answer(f"kubeconfig    {folder.kubeconfig}")
    answer(f"logs          {folder.logs}")
    return 0


def last_end(part: PartState, now: float) -> str:
    """How a part ended last, and when."""
    from rayward.kube.machinery.duration import human

    return f"{part.reason}, {human(now - part.ended)} ago" if part.reason else "-"
