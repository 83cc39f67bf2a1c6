"""``rayward quota``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rayward.changes.steps import run
from rayward.cli import manifests
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import answer, answer_json, output_option
from rayward.cli.target import Target, target_options
from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk.queueing import Answer, UncountableError, check, read_ledger


@click.group("quota", invoke_without_command=True)
@output_option
@target_options
@click.pass_context
def command(ctx: click.Context, form: str, target: Target) -> None:
    """Show the quota queues as a tree: usage, and who waits at which position and why.

    \b
    Examples:
      rayward quota
      rayward quota -o json
      rayward quota check -f service.yaml
    """  # noqa: D301
    if ctx.invoked_subcommand is not None:
        return
    from rayward.quota.report import report

    with target.open() as session:
        found = report(run(session.client, read_ledger()))
    if form == "json":
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "Quota", "items": found})
        return
    for line in _tree(found, 0):
        answer(line)
    if not found:
        answer("No ClusterQueues: nothing here waits for quota.")


@command.command("check", short_help="Say whether Ray objects would get quota now, later or never.")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="File, folder, or - for stdin.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@output_option
@target_options
def check_command(files: tuple[str, ...], recursive: bool, form: str, target: Target) -> int:
    """Say whether the Ray objects of manifests would get quota now, later or never; nothing is written.

    Exits with 7 when one of them can never fit.

    \b
    Examples:
      rayward quota check -f service.yaml
    """  # noqa: D301 -- click reads the backspace
    wanted = manifests.read(files, recursive=recursive)
    with target.open() as session:
        ledger = run(session.client, read_ledger())
        answers: list[Answer] = []
        for one in wanted:
            try:
                found = run(session.client, check(ledger, one.value, session.namespace))
            except UncountableError as error:
                what = f"{one.value['kind']} {one.value['metadata'].get('name')} cannot be counted"
                raise CommandError(Code.INVALID, what, str(error), "rayward lint, with the same -f") from error
            if found is not None:
                answers.append(found)
    if form == "json":
        documents = [one.document() for one in answers]
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "QuotaCheckList", "items": documents})
    else:
        for one in answers:
            answer(one.line())
        if not answers:
            answer(f"None of these objects is in a queue: label them with {labels.QUEUE_NAME}.")
    return Code.QUOTA if any(one.verdict.is_blocked for one in answers) else 0


def _tree(nodes: list[Object], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for node in nodes:
        if node["kind"] == "Cohort":
            yield f"{indent}cohort/{node['name']}"
            yield from _tree(node["children"], depth + 1)
            continue
        active = "" if node["active"] else f"  inactive: {node['why']}"
        yield f"{indent}clusterqueue/{node['name']}{active}"
        for quota in node["quota"]:
            borrowed = f", {quota['potential']} with what others lend" if quota["potential"] != quota["nominal"] else ""
            used = f"{quota['used']} of {quota['nominal']} used{borrowed}"
            yield f"{indent}  {quota['resource']} ({quota['flavor']}): {used}"
        for held in node["holding"]:
            yield f"{indent}  holds  {held['owner']}: {_amounts(held['resources'])}{_role(held)}"
        for waits in node["waiting"]:
            yield f"{indent}  waits  {waits['position']}. {waits['owner']}: {waits['why']}{_role(waits)}"


def _amounts(found: Object) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in found.items()) or "nothing"


def _role(found: Object) -> str:
    return f" [{found['role']}]" if found.get("role") == "surge" else ""
