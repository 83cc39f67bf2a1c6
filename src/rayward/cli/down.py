"""``rayward down``."""

from __future__ import annotations

from pathlib import Path

import click

from rayward.cli.output import answer_json, data_option, folder_of, output_option, tell
from rayward.stack import control


@click.command("down")
@click.option("--purge", is_flag=True, help="Also delete all objects and credentials.")
@data_option
@output_option
def command(purge: bool, data: Path | None, form: str) -> None:
    """Stop the local stack. Objects are kept for the next `rayward up`, unless --purge.

    \b
    Examples:
      rayward down
      rayward down --purge
    """  # noqa: D301 -- click reads the backspace
    folder = folder_of(data)
    try:
        ran = control.down(folder, purge=purge, tell=tell)
    except KeyboardInterrupt:
        tell(f"  next: rayward down{' --purge' if purge else ''}   # waits until all has ended")
        raise
    if form == "json":
        said = {"dataDir": str(folder.root), "ran": ran, "purged": purge}
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "Down", **said})
        return
    what = "stopped" if ran else "nothing ran"
    kept = f"deleted {folder.root}" if purge else f"objects stay in {folder.root}"
    tell(f"{what}; {kept}")
