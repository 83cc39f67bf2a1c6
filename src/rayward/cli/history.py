"""``rayward history``."""

from __future__ import annotations

import click

from rayward.changes.revisions import Revision
from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.grid import Grid, lay_out
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options

_COLUMNS = ("REVISION", "CHANGED", "MANAGER", "USER", "OUTCOME", "CAUSE")


@click.command("history")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@output_option
@target_options
def command(words: tuple[str, ...], form: str, target: Target) -> int:
    """List the revisions of an object: every generation, who changed it, when and why.

    \b
    Examples:
      rayward history rayservice/shop
    """  # noqa: D301
    with changing(target) as (client, session):
        found = client.history(ref_of(words, session))
    if form == "json":
        listed = [one.document() for one in found]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "RevisionList", "items": listed})
        return 0
    for line in lay_out(Grid(_COLUMNS, tuple(_row(one) for one in found))):
        answer(line)
    return 0


def _row(one: Revision) -> tuple[str, ...]:
    if one.is_gap:
        number = str(one.revision) if one.until == one.revision else f"{one.revision}-{one.until}"
        return (number, "", "", "", "", "pruned" if one.pruned else "not recorded")
    return (str(one.revision), one.changed_at, one.manager, one.user, one.outcome, one.cause)
