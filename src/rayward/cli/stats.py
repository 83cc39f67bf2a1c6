"""``rayward stats``."""

from __future__ import annotations

import click

from rayward.changes.timeline.stats import TEAM, Stats
from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.grid import Grid, lay_out
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options

_COLUMNS = ("OBJECT", "CHANGES", "FAILED", "FAILURE RATE", "LEAD TIME", "TIME TO RESTORE")


@click.command("stats")
@click.argument("words", nargs=-1, metavar="[KIND/NAME...]", shell_complete=complete_objects)
@click.option("--team-label", default=TEAM, show_default=True, metavar="LABEL", help="Label that names a team.")
@output_option
@target_options
def command(words: tuple[str, ...], team_label: str, form: str, target: Target) -> int:
    """Show lead time, failure rate and time to restore of changes: of the named objects, or of all and of each team.

    Objects without the label of a team count for their namespace.

    \b
    Examples:
      rayward stats rayservice/shop rayservice/search
      rayward stats -n shops --team-label example.com/team -o json
    """  # noqa: D301
    with changing(target) as (client, session):
        if words:
            found = {word: client.stats(ref_of((word,), session)) for word in words}
        else:
            found = {one.name: one.stats for one in client.all_stats(team_label)}
    if form == "json":
        items = [{"object": name, **one.document()} for name, one in found.items()]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "StatsList", "items": items})
        return 0
    for line in lay_out(Grid(_COLUMNS, tuple(_row(name, one) for name, one in found.items()))):
        answer(line)
    return 0


def _row(name: str, one: Stats) -> tuple[str, ...]:
    def seconds(value: float | None) -> str:
        return "-" if value is None else f"{value:.0f}s"

    rate = f"{one.failure_rate:.0%}" if one.changes else "-"
    return (name, str(one.changes), str(one.failed), rate, seconds(one.lead_seconds), seconds(one.restore_seconds))
