"""``rayward scale``."""

from __future__ import annotations

import click

from rayward.changes.outcomes import UsageError
from rayward.cli.changing import Waits, changing, ref_of, settle, show, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.target import Target, target_options


@click.command("scale")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--group", required=True, help="The worker group.")
@click.option("--replicas", type=click.IntRange(min=0), help="How many replicas it has.")
@click.option("--min", "least", type=click.IntRange(min=0), help="The fewest that the autoscaler may leave.")
@click.option("--max", "most", type=click.IntRange(min=0), help="The most that the autoscaler may make.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server"]),
    default="none",
    help="server: the server checks the change and does not make it.",
)
@click.option("--override-autoscaler", is_flag=True, help="Write replicas that Ray's autoscaler owns.")
@click.option("--cause", default="", envvar="RAYWARD_CAUSE", help="Reason for the change; recorded with the revision.")
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def command(
    words: tuple[str, ...],
    group: str,
    replicas: int | None,
    least: int | None,
    most: int | None,
    dry_run: str,
    override_autoscaler: bool,
    cause: str,
    form: Form | None,
    waits: Waits | None,
    target: Target,
) -> int:
    """Set the size of a worker group, or the bounds of its size; no other group is touched.

    \b
    Examples:
      rayward scale raycluster/train --group gpu --replicas 5 --wait
      rayward scale rayservice shop --group workers --max 8
    """  # noqa: D301
    if replicas is None and least is None and most is None:
        raise UsageError("there is no size", "give --replicas, --min or --max", "rayward scale KIND/NAME --replicas 5")
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        session.say_where()
        done = client.scale(
            ref,
            group,
            replicas,
            min_replicas=least,
            max_replicas=most,
            dry_run=dry_run == "server",
            override_autoscaler=override_autoscaler,
            cause=cause,
        )
        show(ref, done, form, dry=dry_run == "server")
        settle(client, ref, done, waits if dry_run == "none" else None)
    return 0
