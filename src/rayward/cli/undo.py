"""``rayward undo``."""

from __future__ import annotations

import click

from rayward.cli.changing import Waits, changing, ref_of, settle, show, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.output import tell
from rayward.cli.target import Target, target_options


@click.command("undo")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option(
    "--to-revision",
    type=click.IntRange(min=1),
    help="Revision to go back to (default: the last one that differs and did not fail).",
)
@click.option("--override-gitops", is_flag=True, help="Undo even where a GitOps tool manages the spec.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "server"]),
    default="none",
    help="server: the server checks the change and does not make it.",
)
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def command(
    words: tuple[str, ...],
    to_revision: int | None,
    override_gitops: bool,
    dry_run: str,
    form: Form | None,
    waits: Waits | None,
    target: Target,
) -> int:
    """Go back to an earlier revision, by default to the last one that differs and did not fail.

    Sizes that were changed since are kept.

    \b
    Examples:
      rayward undo rayservice/shop
      rayward undo rayservice/shop --to-revision 3
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        session.say_where()
        dry = dry_run == "server"
        undo, done = client.undo(ref, to_revision, override_gitops=override_gitops, dry_run=dry)
        for number in undo.passed:
            tell(f"skipped revision {number}, which failed")
        tell(f"back to revision {undo.to.revision}{f' ({undo.to.cause})' if undo.to.cause else ''}")
        for kept in undo.kept:
            tell(f"kept {kept}, which is newer")
        show(ref, done, form, dry=dry)
        settle(client, ref, done, None if dry else waits)
    return 0
