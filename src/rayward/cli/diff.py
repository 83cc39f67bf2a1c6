"""``rayward diff``."""

from __future__ import annotations

import click

from rayward.cli import manifests
from rayward.cli.changing import changing
from rayward.cli.failure import Code
from rayward.cli.output import answer
from rayward.cli.target import Target, target_options


@click.command("diff")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="File, folder, or - for stdin.")
@click.option("-R", "--recursive", is_flag=True, help="Also folders inside folders.")
@click.option("--show-all", is_flag=True, help="Also managed fields, status and what the server writes.")
@target_options
def command(files: tuple[str, ...], recursive: bool, show_all: bool, target: Target) -> int:
    """Show what applying manifests would change; ends with 1 when something would.

    \b
    Examples:
      rayward diff -f service.yaml
    """  # noqa: D301
    wanted = manifests.read(files, recursive=recursive)
    with changing(target) as (client, _session):
        texts = [client.diff(one.value, show_all=show_all) for one in wanted]
    for text in texts:
        if text:
            answer(text.rstrip("\n"))
    return Code.NO if any(texts) else 0
