"""``python -m rayward.local.controllers``: the controllers, as clients of one API server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import Path

import uvloop

from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.local.controllers.run import Controllers


async def _serve(access: Access) -> None:
    async with Client.connect(access, user_agent="rayward-controllers") as client:
        working = asyncio.ensure_future(Controllers(client, authority=access.tls.authority or "").run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, working.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await working


def main() -> int:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(prog="rayward.local.controllers", description="Run the controllers of a cluster.")
    parser.add_argument("--kubeconfig", type=Path, help="whose cluster (default: KUBECONFIG, ~/.kube/config)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        access = find_access(options.kubeconfig)
    except ConfigError as error:
        print(f"rayward: the controllers cannot start: {error}", file=sys.stderr)  # noqa: T201
        return 1
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(access))
    return 0


if __name__ == "__main__":
    sys.exit(main())
