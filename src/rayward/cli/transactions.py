"""``rayward reassemble`` and ``rayward edit``: suspend, change, resume."""

from __future__ import annotations

import click

from rayward.changes.outcomes import UsageError
from rayward.cli.changing import Waits, changing, ref_of, settle, show, split_settings, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.live import progress
from rayward.cli.target import Target, target_options

_HELP = {
    "reassemble": """Suspend a RayCluster, change it and resume it, as one transaction.

    Settings are those of `rayward set`. If it is interrupted, run it again to continue, or with --undo to go back.

    \b
    Examples:
      rayward reassemble raycluster/train image=train:8
      rayward reassemble raycluster/train --undo
    """,
    "edit": """Suspend a RayJob, change it and resume it, as one transaction: the next attempt has the change.

    Settings are those of `rayward set`. If it is interrupted, run it again to continue, or with --undo to go back.

    \b
    Examples:
      rayward edit rayjob/train "entrypoint=python -m train --epochs=10"
      rayward edit rayjob/train spec.backoffLimit=3
    """,
}


def _command(name: str) -> click.Command:
    @click.command(name, help=_HELP[name])
    @click.argument("words", nargs=-1, required=True, metavar="KIND/NAME [SETTING...]", shell_complete=complete_objects)
    @click.option("--undo", is_flag=True, help="Go back to the spec before an unfinished transaction.")
    @click.option(
        "--cause", default="", envvar="RAYWARD_CAUSE", help="Reason for the change; recorded with the revision."
    )
    @click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
    @waiting_options
    @target_options
    def command(
        words: tuple[str, ...], undo: bool, cause: str, form: Form | None, waits: Waits | None, target: Target
    ) -> int:
        named, settings = split_settings(words)
        if undo and settings:
            raise UsageError("--undo takes no settings", "it goes back to what was there before", "leave one out")
        with changing(target) as (client, session):
            ref = ref_of(named, session)
            session.say_where()
            if undo:
                done = client.undo_transaction(ref)
            else:
                timeout = waits.timeout if waits else 600.0
                verb = client.edit if name == "edit" else client.reassemble
                following = f"rayward {name} {ref} continues; with --undo it reverts the change"
                with progress(str(ref), following) as say:
                    done = verb(ref, *settings, cause=cause, timeout=timeout, tell=say)
            show(ref, done, form, dry=False)
            settle(client, ref, done, waits)
        return 0

    return command


COMMANDS = {name: _command(name) for name in _HELP}
