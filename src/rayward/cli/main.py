"""``rayward``: the commands, and how a failure is told."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rayward.cli import interrupts
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell_failure

_COMMANDS = {
    "up": "Start a local Kubernetes with Ray's operator on this machine.",
    "down": "Stop the local Kubernetes; --purge deletes its data too.",
    "status": "Show the processes of the local Kubernetes.",
    "doctor": "Check whether pods can run on this machine.",
    "init": "Create a folder with a small Ray Serve application and its manifest.",
    "lint": "Check manifests without a server.",
    "diff": "Show what applying manifests would change.",
    "plan": "Predict what applying manifests does: pods that restart, resources, downtime.",
    "apply": "Create or update objects from manifests.",
    "set": "Change an image, a variable, a size or resources of an object.",
    "scale": "Set the size of a worker group.",
    "patch": "Patch an object with a JSON patch or a merge patch.",
    "replace": "Replace an object with a manifest; its resourceVersion is kept.",
    "upgrade": "Change a RayService on a new cluster beside the one that serves.",
    "pause": "Pause upgrades of a RayService before the switch.",
    "promote": "Switch traffic to the new cluster of a paused upgrade.",
    "abort": "Abort the upgrade in progress.",
    "retry": "Start a release again that failed or was aborted.",
    "restart": "Roll out the same spec again, on a new cluster.",
    "rollout": "Replace the workers of a RayCluster one by one.",
    "reassemble": "Suspend a RayCluster, change it and resume it, as one transaction.",
    "edit": "Suspend a RayJob, change it and resume it, as one transaction.",
    "suspend": "Delete the pods of an object and keep the object.",
    "resume": "Resume a suspended object, or a paused upgrade.",
    "reconcile": "Ask the operator to reconcile an object now.",
    "wait": "Wait until an object matches its spec.",
    "why": "Explain why an object is not ready, and what to run next.",
    "timeline": "Show what happened to an object, in order.",
    "stats": "Show lead time, failure rate and time to restore of changes.",
    "history": "List the revisions of an object.",
    "undo": "Go back to an earlier revision.",
    "run": "Run a program as a RayJob and follow it.",
    "stop": "Stop a RayJob.",
    "rerun": "Run a RayJob again under a new name.",
    "get": "List objects.",
    "describe": "Show an object with its conditions and events.",
    "logs": "Print the logs of a pod, of a RayJob, or of the replicas of a RayService.",
    "exec": "Run a command in a pod.",
    "port-forward": "Forward local ports to a pod.",
    "delete": "Delete objects and wait until they are gone.",
    "recreate": "Delete an object and create it again; its history is kept.",
    "unstick": "Show what blocks a deletion, and remove one finalizer.",
    "adopt": "Set the owner of objects that lost it.",
    "gc": "Delete objects whose owner is gone.",
    "quota": "Show the quota queues; `quota check` says whether Ray objects of a manifest would get quota.",
    "operator": "Run the operator on any Kubernetes cluster, or print its RBAC rules.",
    "crds": "Print the CustomResourceDefinitions of Ray's kinds.",
}


_TOGETHER = {
    "rollouts": (
        "upgrade",
        "pause",
        "promote",
        "abort",
        "retry",
        "restart",
        "rollout",
        "suspend",
        "resume",
        "reconcile",
    ),
    "transactions": ("reassemble", "edit"),
    "repair": ("recreate", "unstick", "adopt", "gc"),
}
"""Modules that hold several commands of one kind; every other command has a module of its own."""
_MODULES = {name: module for module, names in _TOGETHER.items() for name in names}


class _Commands(click.Group):
    """Commands found by name; only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        shared = _MODULES.get(cmd_name)
        with interrupts.loading():
            module: Any = importlib.import_module(f"rayward.cli.{shared or cmd_name.replace('-', '_')}")
        return module.COMMANDS[cmd_name] if shared else module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--kubeconfig", type=click.Path(path_type=Path, dir_okay=False), help="Path of a kubeconfig.")
@click.option("--context", help="Context of the kubeconfig.")
@click.option("-n", "--namespace", help="Namespace (default: the context's).")
@click.version_option(package_name="rayward", message="rayward %(version)s")
@click.pass_context
def commands(ctx: click.Context, kubeconfig: Path | None, context: str | None, namespace: str | None) -> None:
    """Run Ray on Kubernetes, and change it safely."""
    if os.environ.get("NO_COLOR"):
        # None leaves it to click, which colours what goes to a terminal
        ctx.color = False


def invoke(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code."""
    as_json = _wants_json(arguments)
    try:
        code = commands.main(list(arguments), prog_name="rayward", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        asked.show()
        return Code.USAGE
    except click.ClickException as error:
        tell_failure(_of_usage(error), as_json=as_json)
        return Code.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Code.INTERRUPTED
    except BrokenPipeError:
        # who read our answer has seen enough
        sys.stdout = None
        return 0
    except Exception as error:
        from rayward.cli.explain import explained

        told = explained(error)
        if told is None:
            raise
        tell_failure(told, as_json=as_json)
        return told.code
    return code if isinstance(code, int) else 0


def _of_usage(error: click.ClickException) -> CommandError:
    """What is wrong with a command line, how it is written, and where that is explained."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return CommandError(Code.USAGE, error.format_message(), "", "rayward --help")
    usage = " ".join(context.get_usage().split()).removeprefix("Usage: ")
    return CommandError(Code.USAGE, error.format_message(), f"usage: {usage}", f"{context.command_path} --help")


def _wants_json(arguments: Sequence[str]) -> bool:
    joined = " ".join(arguments)
    return (
        any(form in joined for form in ("-o json", "-ojson", "--output json", "--output=json"))
        and "jsonpath" not in joined
    )
