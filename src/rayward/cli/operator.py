"""``rayward operator``."""

from __future__ import annotations

import click


class _Commands(click.Group):
    """``run`` is where the operator's process is composed, and loaded only for those who ask for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["run", *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "run":
            return super().get_command(ctx, cmd_name)
        from rayward.stack.operator import command as run

        return run


@click.group(cls=_Commands)
def command() -> None:
    """Run the operator on any Kubernetes cluster, or print the manifests that it needs there.

    \b
    Examples:
      rayward operator rbac | kubectl apply -f -
      rayward operator run --watch-namespace team
    """  # noqa: D301 -- click reads the backspace


@command.command("rbac", short_help="Print the RBAC rules that the operator needs.")
@click.option("--namespace", "-n", "namespaces", multiple=True, help="Only for this namespace; may be repeated.")
@click.option(
    "--admission",
    type=click.Choice(["none", "embedded", "kueue"]),
    default="none",
    help="The value given to `rayward operator run`.",
)
@click.option("--machine-queue", is_flag=True, help="Add the rules for --machine-queue.")
@click.option("--webhook", is_flag=True, help="Add the rules for --webhook-addr.")
@click.option(
    "--account",
    default="rayward-system/rayward-operator",
    metavar="NS/NAME",
    help="ServiceAccount that gets the rights.",
)
def rbac(namespaces: tuple[str, ...], admission: str, machine_queue: bool, webhook: bool, account: str) -> None:
    """Print the RBAC rules that the operator needs, for kubectl apply.

    \b
    Examples:
      rayward operator rbac | kubectl apply -f -
      rayward operator rbac --namespace team --admission embedded | kubectl apply -f -
    """  # noqa: D301 -- click reads the backspace
    import yaml

    from rayward.kinds.admission import Admission, Queueing
    from rayward.operator.ray.reach import NoReach
    from rayward.operator.rbac import manifests
    from rayward.quota.gate.serving import RULES
    from rayward.stack.composition import composed

    where, _, name = account.rpartition("/")
    queueing = Queueing(Admission(admission))
    if webhook and namespaces:
        raise click.UsageError("--webhook and --namespace exclude each other: a webhook is for all namespaces")
    registered = composed(queueing, "default" if machine_queue else "")(NoReach())
    beside = RULES if webhook else ()
    made = manifests(registered, namespaces, where or "rayward-system", name, beside)
    click.echo(yaml.safe_dump_all(made, sort_keys=False), nl=False)


@command.command("policy", short_help="Print the admission policy that guards quota.")
@click.option(
    "--account", default="rayward-system/rayward-operator", metavar="NS/NAME", help="ServiceAccount of the operator."
)
def policy(account: str) -> None:
    """Print the admission policy that lets only the operator admit Ray objects to quota, for kubectl apply.

    \b
    Examples:
      rayward operator policy | kubectl apply -f -
    """  # noqa: D301 -- click reads the backspace
    import yaml

    from rayward.quota.gate.policy import manifests

    where, _, name = account.rpartition("/")
    made = manifests([f"system:serviceaccount:{where or 'rayward-system'}:{name}"])
    click.echo(yaml.safe_dump_all(made, sort_keys=False), nl=False)
