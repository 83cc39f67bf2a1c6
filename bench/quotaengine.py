"""The engine as a program of its own, for whoever drives Kueue's: ``python -m bench.quotaengine --kubeconfig F``.

Kueue's harness starts what it is given in place of its ``minimalkueue``, stops it with SIGINT and measures it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import logging
import signal
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.operator.base.writing import WORKERS
from rayward.quota.engine import REGISTRATION


async def run(kubeconfig: Path) -> None:
    """Admit until interrupted."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with Client.connect(find_access(kubeconfig), user_agent="rayward-quota") as client:
        recorder = EventRecorder(client, "rayward-quota")
        metrics = Metrics(CollectorRegistry())
        manager = Manager(client, [REGISTRATION], None, recorder=recorder, metrics=metrics, workers=WORKERS)
        tasks = [asyncio.create_task(manager.run()), asyncio.create_task(recorder.run())]
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, waiting):
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


def main() -> None:
    """Flags are those of ``minimalkueue`` that the harness sends; others are taken and ignored."""
    parser = argparse.ArgumentParser(prog="bench.quotaengine")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--cpuprofile", type=Path, help="where to write what cProfile found")
    options, _ = parser.parse_known_args()
    logging.basicConfig(level=logging.WARNING)
    if options.cpuprofile is None:
        uvloop.run(run(options.kubeconfig))
        return
    profile = cProfile.Profile()
    profile.runcall(uvloop.run, run(options.kubeconfig))
    profile.dump_stats(options.cpuprofile)


if __name__ == "__main__":
    main()
