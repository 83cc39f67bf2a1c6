"""``python -m rayward.stack.operator``: the operator and what other rooms add to it, in the foreground."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

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
from rayward.stack import webhook
from rayward.stack.composition import check_alone, check_settings, composed, engine_settings_of
from rayward.stack.monitoring import pods

_PATH: Final = click.Path(path_type=Path)


@click.command("run", short_help="Run the operator in the foreground.")
@arguments.flags
@click.option("--timeline-folder", type=_PATH, metavar="PATH", help="Keep the timeline there (default: in memory).")
@click.option(
    "--timeline-addr",
    default="",
    metavar="[HOST]:PORT",
    help="Serve the timeline there, for `rayward timeline` through the API server; there is no authentication.",
)
@click.option(
    "--scrape-file",
    type=_PATH,
    metavar="PATH",
    help="Write the addresses of Ray's metrics there, for Prometheus' file_sd_configs.",
)
@webhook.flags
def command(
    timeline_folder: Path | None,
    timeline_addr: str,
    scrape_file: Path | None,
    webhook_addr: str,
    webhook_service: str,
    webhook_always: bool,
    **options: Any,
) -> None:
    """Run Rayward's operator for RayClusters, RayServices, RayJobs and RayCronJobs, in the foreground.

    \b
    Examples:
      rayward operator run
      rayward operator run --watch-namespace team --admission none
    """  # noqa: D301 -- click reads the backspace
    store = Store(timeline_folder)
    began = rfc3339(datetime.now(UTC))

    async def run(access: Access, settings: Settings) -> None:
        check_settings(settings)
        admission = settings.queueing.admission
        guarding = webhook.webhook_of(webhook_addr, webhook_service, webhook_always, admission)
        checks = (check_alone,) if admission is Admission.EMBEDDED else ()
        compose = composed(settings.queueing, settings.machine_queue, store, engine_settings_of(settings))
        server = await _serve(store, began, timeline_addr)
        try:
            async with webhook.beside(access, settings, guarding):
                await process.run(access, settings, lambda reach: (*compose(reach), *scraped(access)), checks)
        finally:
            if server is not None:
                await server.stop()

    def scraped(access: Access) -> Sequence[Registration]:
        if scrape_file is None:
            return ()
        return (pods.registration(scrape_file, urlsplit(access.server).netloc, RAY_PODS),)

    sys.exit(arguments.start(options, run))


async def _serve(store: Store, began: str, address: str) -> Server | None:
    if address in ("", "0"):
        return None
    host, _, port = address.rpartition(":")
    server = Server(TimelineServer(store, began), listen(host or "0.0.0.0", int(port)))  # noqa: S104 - ":8084" asks for it
    await server.start()
    return server


if __name__ == "__main__":
    command()
