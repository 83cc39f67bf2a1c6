"""``rayward diff``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rayward.changes.diffing import diff_manifests
from rayward.changes.refs import ref_of as ref_of_manifest
from rayward.cli import manifests
from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.failure import Code
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options
from rayward.kube.machinery.jsonvalue import Object


@click.command("diff")
@click.argument("words", nargs=-1, metavar="[KIND/NAME]", shell_complete=complete_objects)
@click.option("-f", "--filename", "files", multiple=True, help="File, folder, or - for stdin.")
@click.option("--against", help="Compare the manifests with those of another file or folder; asks no server.")
@click.option("--revision", help="N compares revision N with the live object or a manifest, N:M two revisions.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@click.option("--show-all", is_flag=True, help="Also managed fields, status and what the server writes.")
@output_option
@target_options
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    against: str | None,
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
      rayward diff -f service.yaml --against released/service.yaml
      rayward diff -f service.yaml --revision 3
      rayward diff rayservice/shop --revision 3:5
    """  # noqa: D301
    if revision is not None and not files:
        return _revisions(words, revision, form, target)
    if not files or words:
        raise click.UsageError("give manifests with -f, or KIND/NAME with --revision")
    if revision is not None and against is not None:
        raise click.UsageError("give --against or --revision, not both")
    if revision is not None and not revision.isdecimal():
        raise click.UsageError("write -f FILE --revision N")
    wanted = _of_ray(files, recursive=recursive)
    if against is not None:
        earlier = _of_ray((against,), recursive=recursive)
        pairs = diff_manifests(earlier, wanted, target.namespace or "default", show_all=show_all)
        return _show([(str(ref), text) for ref, text in pairs], form)
    number = None if revision is None else int(revision)
    with changing(target) as (client, _session):
        found = [
            (str(ref_of_manifest(one, client.namespace)), client.diff(one, against=number, show_all=show_all))
            for one in wanted
        ]
    return _show(found, form)


def _of_ray(files: Sequence[str], *, recursive: bool) -> list[Object]:
    return [one.value for one in manifests.of_ray(manifests.read(files, recursive=recursive), "diff")]


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
