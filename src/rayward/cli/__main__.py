"""``python -m rayward.cli``: the same as ``rayward``."""

from rayward.cli.entry import run

run()
