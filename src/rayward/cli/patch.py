"""``rayward patch``."""

from __future__ import annotations

from typing import Any

import click

from rayward.changes.outcomes import Invalid
from rayward.cli.changing import Waits, changing, ref_of, settle, show, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.target import Target, target_options
from rayward.kube.machinery.jsonvalue import is_list, is_object


@click.command("patch")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--type", "kind", type=click.Choice(["merge", "json"]), default="merge", help="Kind of patch.")
@click.option("-p", "--patch", "text", required=True, help="The patch, as JSON or YAML.")
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
    kind: str,
    text: str,
    dry_run: str,
    form: Form | None,
    waits: Waits | None,
    target: Target,
) -> int:
    """Patch an object. A merge patch that would drop items of a list is rejected.

    \b
    Examples:
      rayward patch raycluster/train -p '{"spec": {"suspend": true}}'
      rayward patch rayservice shop --type=json -p '[{"op": "remove", "path": "/spec/suspend"}]'
    """  # noqa: D301
    value = _read(text)
    if is_list(value) != (kind == "json"):
        wanted = "a list of operations" if kind == "json" else "an object"
        raise Invalid(
            f"a {kind} patch is {wanted}",
            f"this one is {'a list' if is_list(value) else 'an object'}",
            f"--type={'json' if is_list(value) else 'merge'}",
        )
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        session.say_where()
        dry = dry_run == "server"
        done = (
            client.json_patch(ref, value, dry_run=dry)
            if is_list(value)
            else client.merge_patch(ref, value, dry_run=dry)
        )
        show(ref, done, form, dry=dry)
        settle(client, ref, done, None if dry else waits)
    return 0


def _read(text: str) -> Any:
    from rayward.kinds.serveconfig import ServeConfigError
    from rayward.kinds.serveconfig.reading import read

    try:
        value = read(text).value
    except ServeConfigError as error:
        raise Invalid("the patch is neither JSON nor YAML", str(error), "correct its quotes and brackets") from error
    if not is_object(value) and not is_list(value):
        raise Invalid("the patch is not an object and not a list", "", "rayward patch KIND/NAME -p '{...}'")
    return value
