"""Entry point of the ``rayward`` command."""

from __future__ import annotations

import sys

from rayward.cli import interrupts


def run() -> None:
    """Run the command of this process and exit with its code."""
    with interrupts.loading():
        from rayward.cli.main import invoke
    code = invoke(sys.argv[1:])
    interrupts.answered(code)
    sys.exit(code)
