"""``rayward why``."""

from __future__ import annotations

import click

from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options


@click.command("why")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--evidence", is_flag=True, help="With -o json: also every object that was read.")
@output_option
@target_options
def command(words: tuple[str, ...], evidence: bool, form: str, target: Target) -> int:
    """Explain why an object is not ready: the cause, the evidence, and the command to run next.

    \b
    Examples:
      rayward why rayservice/shop
      rayward why raycluster/train -o json
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        found, read = client.why(ref)
    if form == "json":
        more = {"objects": read.document()} if evidence else {}
        shown = {"apiVersion": "cli.rayward/v1", "kind": "Diagnosis", "object": str(ref), **found.document(), **more}
        answer_json(shown)
        return 0
    answer(found.cause)
    for line in found.evidence:
        first, *rest = line.splitlines() or [""]
        answer(f"  evidence: {first}")
        for more_lines in rest:
            answer(f"            {more_lines}")
    if found.following:
        answer(f"  next: {found.following}")
    return 0
