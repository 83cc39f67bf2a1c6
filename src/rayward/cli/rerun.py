"""``rayward rerun``."""

from __future__ import annotations

import click

from rayward.changes.intents import parse_setting
from rayward.changes.refs import Ref
from rayward.cli.changing import changing
from rayward.cli.completion import complete_jobs
from rayward.cli.following import follow, how_to_return, name_of
from rayward.cli.output import answer, tell
from rayward.cli.target import Target, target_options


@click.command("rerun")
@click.argument("job", metavar="NAME", shell_complete=complete_jobs)
@click.option("--name", default="", help="Name of the new RayJob (default: the old one's, with a number).")
@click.option("--set", "settings", multiple=True, metavar="SETTING", help="What is different, as of `rayward set`.")
@click.option("--detach", "-d", is_flag=True, help="Create the job and do not wait for it.")
@target_options
def command(job: str, name: str, settings: tuple[str, ...], detach: bool, target: Target) -> int:
    """Run a RayJob again under a new name; the old one is kept. Exits with 8 when the job fails.

    \b
    Examples:
      rayward rerun train-x7k2p
      rayward rerun train-x7k2p --name train-again --detach
      rayward rerun train-x7k2p --set "entrypoint=python train.py --epochs 10" --set image=train:8
    """  # noqa: D301
    intents = [parse_setting(word) for word in settings]
    with changing(target) as (client, session):
        session.say_where()
        made = client.rerun(Ref("RayJob", job.rpartition("/")[2], session.namespace), name, intents)
        ref = Ref("RayJob", name_of(made), session.namespace)
        tell(f"{ref} created")
        if detach:
            tell(how_to_return(ref, target))
            answer(f"rayjob.ray.io/{ref.name}")
            return 0
        return follow(client, ref, target)
