"""``python -m rayward.stack.operator``: the operator and what other rooms add to it, in the foreground."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rayward.changes.timeline import Store
from rayward.kinds.admission import Admission
from rayward.kube.client.access import Access
from rayward.kube.runtime.registry import Registration
from rayward.operator import arguments, process
from rayward.operator.cluster.observe import RAY_PODS
from rayward.operator.process import Settings
from rayward.stack.composition import check_alone, check_settings, composed
from rayward.stack.monitoring import pods


def main(words: Sequence[str] | None = None) -> int:
    """Work until told to stop; the timeline is kept in memory unless there is a folder for it."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--timeline-folder", type=Path)
    parser.add_argument("--scrape-file", type=Path, help="where to tell Prometheus of Ray's pods")
    options, others = parser.parse_known_args(words)
    store = Store(options.timeline_folder)

    async def run(access: Access, settings: Settings) -> None:
        check_settings(settings)
        checks = (check_alone,) if settings.queueing.admission is Admission.EMBEDDED else ()
        compose = composed(settings.queueing, settings.machine_queue, store)
        await process.run(access, settings, lambda reach: (*compose(reach), *scraped(access)), checks)

    def scraped(access: Access) -> Sequence[Registration]:
        if options.scrape_file is None:
            return ()
        return (pods.registration(options.scrape_file, urlsplit(access.server).netloc, RAY_PODS),)

    return arguments.main(others, run)


if __name__ == "__main__":
    sys.exit(main())
