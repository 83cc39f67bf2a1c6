"""``rayward plan``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import click
import orjson

from rayward.changes.planning import Plan
from rayward.changes.strategies import Strategy
from rayward.cli import manifests
from rayward.cli.changing import changing
from rayward.cli.failure import Code
from rayward.cli.grid import Grid, lay_out
from rayward.cli.output import answer, answer_json, output_option, tell
from rayward.cli.target import Target, target_options
from rayward.kinds.effects import Rules

_SHOWN = ("cpu", "memory", "nvidia.com/gpu", "pods")


@click.command("plan")
@click.option("-f", "--filename", "files", multiple=True, required=True, help="File, folder, or - for stdin.")
@click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when something would change.")
@click.option("--force-conflicts", is_flag=True, help="Predict an apply with --force-conflicts.")
@click.option("--strategy", type=click.Choice(list(get_args(Strategy))), help="Predict an apply with this --strategy.")
@click.option(
    "--rules",
    type=click.Choice([str(one) for one in Rules]),
    help="Operator whose rules apply (default: the installed one).",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Save the plan of one object to a file.")
@output_option
@target_options
def command(
    files: tuple[str, ...],
    recursive: bool,
    exit_code: bool,
    force_conflicts: bool,
    strategy: Strategy | None,
    rules: str | None,
    out: Path | None,
    form: str,
    target: Target,
) -> int:
    """Predict what applying manifests does; nothing is changed.

    \b
    Examples:
      rayward plan -f service.yaml
      rayward plan -f service.yaml --exit-code -o json
    """  # noqa: D301
    wanted = manifests.of_ray(manifests.read(files, recursive=recursive), "plan")
    with changing(target) as (client, _session):
        chosen = Rules(rules) if rules else None
        plans = [
            client.plan(one.value, strategy=strategy, force_conflicts=force_conflicts, rules=chosen) for one in wanted
        ]
    if out is not None:
        if len(plans) != 1:
            raise click.UsageError("--out saves the plan of one object")
        out.write_bytes(orjson.dumps(plans[0].document(), option=orjson.OPT_INDENT_2))
        tell(f"saved; apply it with: rayward apply --plan {out}")
    if form == "json":
        documents = [plan.document() for plan in plans]
        listed = {"apiVersion": "cli.rayward/v1", "kind": "PlanList", "items": documents}
        answer_json(documents[0] if len(documents) == 1 else listed)
    else:
        for plan in plans:
            for line in _lines(plan):
                answer(line)
    changes = any(plan.action != "none" for plan in plans)
    return Code.NO if exit_code and changes else 0


def _lines(plan: Plan) -> Iterator[str]:
    title = f"{plan.ref.kind.lower()}.ray.io/{plan.ref.name}"
    if plan.action == "none":
        yield f"{title}: nothing changes"
        return
    if plan.action == "create":
        yield f"{title}: is created ({_amounts(plan.after)})"
    else:
        yield f"{title}: {plan.strongest} under the rules of {plan.rules}"
        rows = tuple((f"  {change.path}", str(change.effect), change.why) for change in plan.changes)
        yield from lay_out(Grid(("  FIELD", "EFFECT", "WHY"), rows))
        for one in plan.restarts:
            yield f"  replaced: {one.pods} pods of group {one.group}"
        yield f"  requests: now {_amounts(plan.now)}; at most {_amounts(plan.peak)}; then {_amounts(plan.after)}"
        yield f"  downtime: {plan.downtime}"
    for reason in plan.blocked:
        yield f"  blocked: {reason}"
    for text in plan.unknown:
        yield f"  not known: {text}"
    for step in plan.approval:
        yield f"  needs approval: {step}"


def _amounts(amounts: Mapping[str, Any]) -> str:
    shown = [f"{amounts[name]} {name}" for name in _SHOWN if name in amounts]
    return ", ".join(shown) or "no pods"
