"""``python -m rayward.stack.operator``: the operator and what other rooms add to it, in the foreground."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from rayward.changes.timeline import Store
from rayward.changes.timeline.serving import TimelineServer
from rayward.kinds.admission import Admission
from rayward.kube.client.access import Access
from rayward.kube.core.meta import rfc3339
from rayward.kube.runtime.registry import Registration
from rayward.net.server import Server, listen
from rayward.operator import arguments, process
from rayward.operator.cluster.observe import RAY_PODS
from rayward.operator.process import Settings
from rayward.stack.composition import check_alone, check_settings, composed
from rayward.stack.monitoring import pods


def main(words: Sequence[str] | None = None) -> int:
    """Work until told to stop; the timeline is kept in memory unless there is a folder for it."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "--timeline-folder", type=Path, metavar="PATH", help="keep the timeline there (default: in memory)"
    )
    parser.add_argument(
        "--timeline-addr",
        default="",
        metavar="[HOST]:PORT",
        help="serve the timeline there, for rayward timeline through the API server; who reaches it reads it all",
    )
    parser.add_argument(
        "--scrape-file",
        type=Path,
        metavar="PATH",
        help="write the addresses of Ray's metrics there, for Prometheus' file_sd_configs",
    )
    options, _ = parser.parse_known_args(words)
    store = Store(options.timeline_folder)
    began = rfc3339(datetime.now(UTC))

    async def run(access: Access, settings: Settings) -> None:
        check_settings(settings)
        checks = (check_alone,) if settings.queueing.admission is Admission.EMBEDDED else ()
        compose = composed(settings.queueing, settings.machine_queue, store)
        server = await _serve(store, began, options.timeline_addr)
        try:
            await process.run(access, settings, lambda reach: (*compose(reach), *scraped(access)), checks)
        finally:
            if server is not None:
                await server.stop()

    def scraped(access: Access) -> Sequence[Registration]:
        if options.scrape_file is None:
            return ()
        return (pods.registration(options.scrape_file, urlsplit(access.server).netloc, RAY_PODS),)

    return arguments.main(words, run, (parser,))


async def _serve(store: Store, began: str, address: str) -> Server | None:
    if address in ("", "0"):
        return None
    host, _, port = address.rpartition(":")
    server = Server(TimelineServer(store, began), listen(host or "0.0.0.0", int(port)))  # noqa: S104 - ":8084" asks for it
    await server.start()
    return server


if __name__ == "__main__":
    sys.exit(main())
