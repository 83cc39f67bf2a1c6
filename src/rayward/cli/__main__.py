"""``python -m rayward.cli``: the same as ``rayward``."""

from rayward.cli.main import run

run()
