"""``python -m rayward.local.apiserver``: the embedded API server alone."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from rayward.local.apiserver.process import serve
from rayward.local.store import StoreError
from rayward.net.loop import run_loop


@click.command("rayward.local.apiserver")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), required=True, help="Folder of the objects and credentials."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=int, default=0, help="Port; 0 keeps the last one or takes a free one.")
def main(data_dir: Path, host: str, port: int) -> None:
    """Serve the Kubernetes API from a folder, until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        run_loop(serve(data_dir, host, port))
    except (StoreError, OSError) as error:
        print(f"rayward: the API server cannot start: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


if __name__ == "__main__":
    main()
