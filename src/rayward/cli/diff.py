"""``rayward diff``."""

from __future__ import annotations

import click

from rayward.changes.refs import ref_of as ref_of_manifest
from rayward.cli import manifests
from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.failure import Code
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options


@click.command("diff")
@click.argument("words", nargs=-1, metavar="[KIND/NAME]", shell_complete=complete_objects)
@click.option("-f", "--filename", "files", multiple=True, help="File, folder, or - for stdin.")
@click.option("--revision", help="N compares revision N with the live object, N:M two revisions.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@click.option("--show-all", is_flag=True, help="Also managed fields, status and what the server writes.")
@output_option
@target_options
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    revision: str | None,
    recursive: bool,
    show_all: bool,
    form: str,
    target: Target,
) -> int:
    """Show what applying manifests would change, or what a revision changed. Exits with 1 when something differs.

    \b
    Examples:
      rayward diff -f service.yaml
      rayward diff rayservice/shop --revision 3:5
    """  # noqa: D301
    if revision is not None:
        return _revisions(words, revision, form, target)
    if not files or words:
        raise click.UsageError("give manifests with -f, or KIND/NAME with --revision")
    wanted = manifests.of_ray(manifests.read(files, recursive=recursive), "diff")
    with changing(target) as (client, _session):
        found = [
            (str(ref_of_manifest(one.value, client.namespace)), client.diff(one.value, show_all=show_all))
            for one in wanted
        ]
    return _show(found, form)


def _revisions(words: tuple[str, ...], revision: str, form: str, target: Target) -> int:
    one, colon, other = revision.partition(":")
    if not words or not one.isdecimal() or (colon and not other.isdecimal()):
        raise click.UsageError("write KIND/NAME --revision N, or --revision N:M")
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        text = client.diff_revisions(ref, int(one), int(other) if colon else None)
    return _show([(str(ref), text)], form)


def _show(found: list[tuple[str, str]], form: str) -> int:
    if form == "json":
        items = [{"object": name, "differs": bool(text), "diff": text} for name, text in found]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "DiffList", "items": items})
    else:
        for _, text in found:
            if text:
                answer(text.rstrip("\n"))
    return Code.NO if any(text for _, text in found) else 0
