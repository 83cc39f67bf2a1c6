"""``rayward recreate``, ``unstick``, ``adopt`` and ``gc``: each shows what it would do before it does it."""

from __future__ import annotations

import click

from rayward.changes.finalizers import Stuck
from rayward.changes.refs import Ref
from rayward.cli import manifests
from rayward.cli.changing import Waits, changing, ref_of, settle, show, waiting_options
from rayward.cli.completion import complete_objects
from rayward.cli.failure import Code, CommandError
from rayward.cli.forms import Form, FormType
from rayward.cli.output import answer, answer_json, output_option, tell
from rayward.cli.target import Target, target_options


@click.command("recreate")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("-f", "--filename", "file", help="Manifest to create it from (default: its own spec).")
@click.option(
    "--approve", default="", metavar="NAME", help="Confirm with the object's name: it is deleted and created again."
)
@click.option("-o", "--output", "form", type=FormType("json", "yaml", "name"), help="json, yaml or name.")
@waiting_options
@target_options
def _recreate(
    words: tuple[str, ...], file: str | None, approve: str, form: Form | None, waits: Waits | None, target: Target
) -> int:
    """Delete an object with what it owns and create it again: for fields that cannot be changed.

    Labels, annotations and history are kept. If it is interrupted, run it again to continue.

    \b
    Examples:
      rayward recreate raycluster/train -f train.yaml --approve=train
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        wanted = None
        if file is not None:
            found = [one for one in manifests.read((file,), recursive=False) if one.kind == ref.kind]
            wanted = next((one.value for one in found if one.name == ref.name), None)
            if wanted is None:
                raise CommandError(Code.USAGE, f"{file} has no {ref}", "", "name the file that has it")
        session.say_where()
        timeout = waits.timeout if waits else 600.0
        done = client.recreate(ref, wanted, approve=approve, timeout=timeout, say=tell)
        show(ref, done, form, dry=False)
        settle(client, ref, done, waits)
    return 0


@click.command("unstick")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--finalizer", default="", help="Finalizer to remove (default: the only one).")
@click.option("--approve", default="", metavar="NAME", help="Confirm with the object's name: one finalizer is removed.")
@output_option
@target_options
def _unstick(words: tuple[str, ...], finalizer: str, approve: str, form: str, target: Target) -> int:
    """Show what holds an object that is being deleted; with --approve remove exactly one finalizer.

    \b
    Examples:
      rayward unstick raycluster/train
      rayward unstick raycluster/train --finalizer example.com/archive --approve=train
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        if approve:
            session.say_where()
            stuck = client.unstick(ref, finalizer, approve=approve)
        else:
            stuck = client.stuck(ref)
    if form == "json":
        held = [one.document() for one in stuck.held]
        shown = {"object": str(ref), "deletedAt": stuck.since, "finalizers": held, "removed": stuck.removed}
        answer_json({"apiVersion": "cli.rayward/v1", "kind": "Stuck", **shown})
        return 0
    _print(ref, stuck)
    return 0


def _print(ref: Ref, stuck: Stuck) -> None:
    if stuck.removed:
        answer(f"{ref.kind.lower()}.ray.io/{ref.name} finalizer {stuck.removed} removed")
        return
    since = f"is being deleted since {stuck.since}" if stuck.since else "is not being deleted"
    answer(f"{ref} {since}; finalizers: {len(stuck.held)}")
    for one in stuck.held:
        answer(f"  {one.finalizer}")
        answer(f"    held by {one.holder.owner}, which waits for {one.holder.waits_for}")
        answer(f"    its removal {stuck.cost(one)}")
    if stuck.since and stuck.held:
        answer(f"  next: rayward unstick {ref} --finalizer {stuck.held[0].finalizer} --approve={ref.name}")


def _cleaning(name: str, action: str, about: str) -> click.Command:
    @click.command(
        name, help=f"{about}\n\n\b\nExamples:\n  rayward {name}         # shows them\n  rayward {name} --yes"
    )
    @click.option("-y", "--yes", is_flag=True, help="Make the change; without this flag the objects are only listed.")
    @output_option
    @target_options
    def command(yes: bool, form: str, target: Target) -> int:
        with changing(target) as (client, session):
            found = [one for one in client.leftovers() if one.action == action]
            if yes and found:
                session.say_where()
                client.clean(*found)
        if form == "json":
            items = [one.document() for one in found]
            answer_json({"apiVersion": "cli.rayward/v1", "kind": "LeftoverList", "items": items, "done": yes})
            return 0
        done = {"delete": "deleted", "adopt": "adopted"}[action] if yes else f"would be {action}ed".replace("eed", "ed")
        for one in found:
            answer(f"{one} {done}: {one.why}")
        if not found:
            answer(f"there is nothing to {action}")
        elif not yes:
            tell(f"nothing was changed; next: rayward {name} --yes")
        return 0

    return command


COMMANDS = {
    "recreate": _recreate,
    "unstick": _unstick,
    "adopt": _cleaning("adopt", "adopt", "Set the owner of objects that lost it."),
    "gc": _cleaning("gc", "delete", "Delete objects of Ray clusters whose owner is gone."),
}
