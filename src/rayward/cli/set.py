"""``rayward set``."""

from __future__ import annotations

import click

from rayward.changes.outcomes import UsageError
from rayward.cli.changing import Waits, changing, ref_of, settle, show, split_settings, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.target import Target, target_options


@click.command("set")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME SETTING...", shell_complete=complete_objects)
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
    dry_run: str,
    override_autoscaler: bool,
    cause: str,
    form: Form | None,
    waits: Waits | None,
    target: Target,
) -> int:
    """Change the fields that the settings name, and no others.

    \b
    Settings:
      image=IMAGE, GROUP.image=IMAGE           of every group, or of one; the head's group is called head
      GROUP.replicas=N, GROUP.min=N, GROUP.max=N
      env.NAME=VALUE, GROUP.env.NAME=VALUE     NAME- instead of NAME=VALUE removes it
      GROUP.requests.cpu=2, GROUP.limits.memory=4Gi
      rayVersion=VERSION, entrypoint=COMMAND, suspend=true
      annotation.NAME=VALUE, annotation.NAME-  of the object itself
      spec.PATH=VALUE                          any other field; the value is YAML, null removes the field,
                                               items of lists have names: spec.workerGroupSpecs[gpu].numOfHosts=2

    \b
    Examples:
      rayward set raycluster/train gpu.max=8
      rayward set rayservice shop image=rayproject/ray:2.61.0 rayVersion=2.61.0
      rayward set rayservice shop spec.rayClusterDeletionDelaySeconds=60
    """  # noqa: D301
    named, settings = split_settings(words)
    if not settings:
        raise UsageError("there is nothing to set", "no setting was given", "rayward set raycluster/x gpu.replicas=5")
    with changing(target) as (client, session):
        ref = ref_of(named, session)
        session.say_where()
        done = client.set(
            ref, *settings, dry_run=dry_run == "server", override_autoscaler=override_autoscaler, cause=cause
        )
        show(ref, done, form, dry=dry_run == "server")
        settle(client, ref, done, waits if dry_run == "none" else None)
    return 0
