"""``rayward down``."""

from __future__ import annotations

from pathlib import Path

import click

from rayward.cli.output import data_option, folder_of, tell
from rayward.stack import control


@click.command("down")
@click.option("--purge", is_flag=True, help="Also wipe all objects and credentials.")
@data_option
def command(purge: bool, data: Path | None) -> None:
    """Stop what `rayward up` started. Objects stay, unless --purge."""
    folder = folder_of(data)
    ran = control.down(folder, purge=purge)
    what = "stopped" if ran else "nothing ran"
    kept = f"{folder.root} is wiped" if purge else f"objects stay in {folder.root}"
    tell(f"{what}; {kept}")
