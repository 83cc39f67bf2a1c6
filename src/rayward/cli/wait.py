"""``rayward wait``."""

from __future__ import annotations

import click

from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.durations import DurationType
from rayward.cli.live import progress
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options


@click.command("wait")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--timeout", type=DurationType(), default="10m", help="How long to wait, such as 10m; 0 waits forever.")
@output_option
@target_options
def command(words: tuple[str, ...], timeout: float, form: str, target: Target) -> int:
    """Wait until an object matches its spec. A timeout changes nothing and exits with 124.

    \b
    Examples:
      rayward wait rayservice/shop --timeout 20m
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        with progress(str(ref)) as say:
            waited = client.wait(ref, timeout=timeout, tell=say)
    if form == "json":
        shown = {"state": str(waited.verdict.state), "reason": waited.verdict.reason, "seconds": waited.seconds}
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "WaitResult", "object": str(ref), **shown})
    else:
        answer(f"{ref.kind.lower()}.ray.io/{ref.name} condition met")
    return 0
