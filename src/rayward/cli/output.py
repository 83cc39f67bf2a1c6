"""How commands speak: answers on stdout, progress and failures on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from rayward.cli.failure import CommandError
from rayward.stack.folder import Folder, default_root


def data_option(function: Any) -> Any:
    """``--data-dir`` as every local command has it."""
    return click.option(
        "--data-dir",
        "data",
        type=click.Path(path_type=Path, file_okay=False),
        help="Data folder of the local stack (default: $RAYWARD_DATA_DIR or ~/.local/share/rayward).",
    )(function)


def output_option(function: Any) -> Any:
    """``-o json`` as every reading command has it."""
    choice = click.Choice(["table", "json"])
    return click.option("-o", "--output", "form", type=choice, default="table", help="Output format.")(function)


def folder_of(data: Path | None) -> Folder:
    """The data folder a command works on."""
    return Folder((data or default_root()).absolute())


def tell(text: str) -> None:
    """Progress, on stderr."""
    click.echo(text, err=True)


def answer(text: str) -> None:
    """The answer, on stdout."""
    click.echo(text)


def answer_json(value: Any) -> None:
    """The answer as JSON, on stdout."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def tell_failure(error: CommandError, *, as_json: bool = False) -> None:
    """A failure in three parts: what happened, why, and what to run next."""
    if as_json:
        click.echo(orjson.dumps(error.document()).decode(), err=True)
        return
    click.echo(f"error: {error.what}", err=True)
    for line in error.why.splitlines():
        click.echo(f"  why: {line}" if line else "", err=True)
    if error.following:
        click.echo(f"  next: {error.following}", err=True)
