"""``python -m rayward.local.traffic``: the services of an API server on this machine."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from rayward.kube.client.access import ConfigError
from rayward.local.traffic.run import serve
from rayward.net.loop import run_loop


@click.command("rayward.local.traffic")
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True, help="File that names the API server.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), required=True, help="Folder of the node whose pods are served."
)
@click.option(
    "--ready-file", type=click.Path(path_type=Path), help="Written once ready (default: traffic-ready in the folder)."
)
def main(kubeconfig: Path, data_dir: Path, ready_file: Path | None) -> None:
    """Make services reachable, until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        data = data_dir.absolute()
        run_loop(serve(kubeconfig, data, ready_file or data / "traffic-ready"))
    except (ConfigError, OSError) as error:
        print(f"rayward: the traffic cannot start: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


if __name__ == "__main__":
    main()
