"""``python -m rayward.local.controllers``: the controllers, as clients of one API server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

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


def main() -> int:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(prog="rayward.local.controllers", description="Run the controllers of a cluster.")
    parser.add_argument("--kubeconfig", type=Path, help="whose cluster (default: KUBECONFIG, ~/.kube/config)")
    parser.add_argument("--claims-folder", type=Path, help="bind claims to folders in here (default: bind none)")
    parser.add_argument("--without", action="append", default=[], choices=OPTIONAL, help="leave this one out")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        access = find_access(options.kubeconfig)
    except ConfigError as error:
        print(f"rayward: the controllers cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    run_loop(_serve(access, options.claims_folder, options.without))
    return 0


if __name__ == "__main__":
    sys.exit(main())
