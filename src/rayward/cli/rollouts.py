"""The verbs of a rollout, each one call of the SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rayward.changes.outcomes import UsageError
from rayward.changes.writing import Written
from rayward.cli.changing import Waits, changing, ref_of, settle, show, split_settings, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.forms import Form, FormType
from rayward.cli.target import Target, target_options
from rayward.sdk import Client

_RESTART = (
    "Roll out the same spec again, for example after code on a hostPath or in a ConfigMap changed: a new cluster "
    "starts beside the one that serves, and traffic switches to it."
)
_RETRY = (
    "Start a release again that failed or was aborted: on a new cluster, or where upgradeStrategy.type is None in the "
    "same one, by a comment in serveConfigV2."
)
_ABOUT = {
    "pause": (
        "Pause upgrades before the switch: a new cluster starts, becomes ready and waits for `rayward promote`.",
        "rayservice/shop",
    ),
    "promote": ("Switch traffic to the new cluster of a paused upgrade.", "rayservice/shop"),
    "abort": (
        "Abort the upgrade in progress. It starts again only by `rayward retry` or a new spec.",
        "rayservice/shop",
    ),
    "retry": (_RETRY, "rayservice/shop"),
    "restart": (_RESTART, "rayservice/shop"),
    "suspend": ("Delete the pods of an object and keep the object.", "raycluster/train"),
    "resume": ("Resume a suspended object, or a paused upgrade.", "raycluster/train"),
    "reconcile": ("Ask the operator to reconcile an object now.", "rayservice/shop"),
}


def _command(name: str) -> click.Command:
    about, example = _ABOUT[name]

    @click.command(name, help=f"{about}\n\n\b\nExamples:\n  rayward {name} {example}")
    @click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
    @click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
    @waiting_options
    @target_options
    def command(words: tuple[str, ...], form: Form | None, waits: Waits | None, target: Target) -> int:
        return _run(words, lambda client, ref: getattr(client, name)(ref), form, waits, target)

    return command


def _run(
    words: tuple[str, ...],
    call: Callable[[Client, Any], Written],
    form: Form | None,
    waits: Waits | None,
    target: Target,
) -> int:
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        session.say_where()
        done = call(client, ref)
        show(ref, done, form, dry=False)
        settle(client, ref, done, waits)
    return 0


@click.command("upgrade")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME SETTING...", shell_complete=complete_objects)
@click.option(
    "--pause", "paused", is_flag=True, help="Hold the new cluster before the switch, until `rayward promote`."
)
@click.option("--cause", default="", envvar="RAYWARD_CAUSE", help="Reason for the change; recorded with the revision.")
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def _upgrade(
    words: tuple[str, ...], paused: bool, cause: str, form: Form | None, waits: Waits | None, target: Target
) -> int:
    """Change a RayService on a new cluster beside the one that serves. Settings are those of `rayward set`.

    \b
    Examples:
      rayward upgrade rayservice/shop image=rayproject/ray:2.61.0 rayVersion=2.61.0 --wait
      rayward upgrade rayservice/shop image=shop:7 --pause
    """  # noqa: D301
    named, settings = split_settings(words)
    if not settings:
        raise UsageError("there is nothing to upgrade to", "no setting was given", "rayward restart KIND/NAME")
    return _run(
        named, lambda client, ref: client.upgrade(ref, *settings, paused=paused, cause=cause), form, waits, target
    )


@click.command("rollout")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME [SETTING...]", shell_complete=complete_objects)
@click.option(
    "--cause", default="rollout", envvar="RAYWARD_CAUSE", help="Reason for the change; recorded with the revision."
)
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def _rollout(words: tuple[str, ...], cause: str, form: Form | None, waits: Waits | None, target: Target) -> int:
    """Replace workers one by one, each drained first; the head stays. Settings are those of `rayward set`.

    The upgradeStrategy.type of a RayService has to be None: otherwise an edit of it makes a new cluster.

    \b
    Examples:
      rayward rollout raycluster/train gpu.image=train:8 --wait
      rayward rollout raycluster/train
    """  # noqa: D301
    named, settings = split_settings(words)
    return _run(named, lambda client, ref: client.rollout(ref, *settings, cause=cause), form, waits, target)


COMMANDS = {**{name: _command(name) for name in _ABOUT}, "upgrade": _upgrade, "rollout": _rollout}
