"""``python -m rayward.local.controllers``: the controllers, as clients of one API server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.local.controllers.run import OPTIONAL, Controllers
from rayward.net.loop import run_loop


async def _serve(access: Access, claims_folder: Path | None, without: Sequence[str]) -> None:
    async with Client.connect(access, user_agent="rayward-controllers") as client:
        controllers = Controllers(
            client, authority=access.tls.authority or "", claims_folder=claims_folder, without=without
        )
        working = asyncio.ensure_future(controllers.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, working.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await working


@click.command("rayward.local.controllers")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Whose cluster (default: KUBECONFIG, ~/.kube/config)."
)
@click.option(
    "--claims-folder", type=click.Path(path_type=Path), help="Bind claims to folders in here (default: bind none)."
)
@click.option("--without", multiple=True, type=click.Choice(OPTIONAL), help="Leave this one out; may be repeated.")
def main(kubeconfig: Path | None, claims_folder: Path | None, without: tuple[str, ...]) -> None:
    """Run the controllers of a cluster, until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        access = find_access(kubeconfig)
    except ConfigError as error:
        print(f"rayward: the controllers cannot start: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    run_loop(_serve(access, claims_folder, without))


if __name__ == "__main__":
    main()
