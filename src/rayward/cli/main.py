"""``rayward``: the commands, and how a failure is told."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from rayward.cli.output import UsageProblem, tell_failure
from rayward.stack.errors import StackError

_COMMANDS = {
    "up": "Start Kubernetes on this machine, without Kubernetes.",
    "down": "Stop it; --purge wipes its data.",
    "status": "Show what runs.",
    "crds": "Print the definitions of Ray's kinds, to be piped into kubectl.",
}


class _Commands(click.Group):
    """Commands found by name; only the one that is called is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module: Any = importlib.import_module(f"rayward.cli.{cmd_name}")
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rayward", message="rayward %(version)s")
def commands() -> None:
    """Run Ray on Kubernetes, and change it safely."""


def run() -> None:
    """Entry point of the ``rayward`` command."""
    try:
        code = commands.main(standalone_mode=False)
    except StackError as error:
        tell_failure(error.what, error.why, error.following)
        sys.exit(10)
    except UsageProblem as error:
        tell_failure(error.what, error.why, error.following)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
