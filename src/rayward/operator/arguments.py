"""The operator's own command line; ``rayward operator run`` hands its words on to it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from rayward.kinds.admission import Admission, Queueing
from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.config import find_access
from rayward.kube.runtime.leader import LeadershipLost
from rayward.net.loop import run_loop
from rayward.operator.base.writing import WORKERS
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings, run

REFUSED = 10
LOST = 11


def parser(more: Sequence[argparse.ArgumentParser] = ()) -> argparse.ArgumentParser:
    """Every flag; ``more`` are flags of what runs beside the operator in its process."""
    about = "Run Rayward's operator for RayClusters, RayServices, RayJobs and RayCronJobs."
    made = argparse.ArgumentParser(prog="rayward operator run", description=about, parents=more)
    made.add_argument(
        "--kubeconfig", type=Path, help="kubeconfig of the cluster (default: KUBECONFIG, ~/.kube/config, the pod's)"
    )
    made.add_argument("--context", help="context of the kubeconfig")
    made.add_argument(
        "--watch-namespace",
        action="append",
        default=[],
        metavar="NS[,NS]",
        help="watch only these namespaces; may be repeated (default: all)",
    )
    made.add_argument(
        "--leader-election",
        choices=["auto", "true", "false"],
        default="auto",
        help="whether several operators take turns (auto: unless the API server is on this machine)",
    )
    made.add_argument("--leader-election-namespace", default="", metavar="NS", help="namespace of the lease")
    made.add_argument(
        "--metrics-addr", default="", metavar="[HOST]:PORT", help="serve /metrics there; port 0: a free one"
    )
    made.add_argument(
        "--metrics-file", type=Path, metavar="PATH", help="write the address of /metrics there, as Prometheus reads it"
    )
    made.add_argument(
        "--health-probe-bind-address", default="", metavar="[HOST]:PORT", help="serve /healthz and /readyz there"
    )
    made.add_argument(
        "--reconcile-concurrency",
        type=int,
        default=WORKERS,
        metavar="N",
        help="how many objects of a kind are reconciled at once",
    )
    made.add_argument(
        "--use-kubernetes-proxy", action="store_true", help="reach dashboards through the API server, from anywhere"
    )
    made.add_argument(
        "--admission",
        choices=[str(each) for each in Admission],
        default=str(Admission.NONE),
        help="who admits Ray objects with a queue's label: the embedded engine, or Kueue (default: none; they wait)",
    )
    made.add_argument(
        "--default-queue",
        default="",
        metavar="NAME",
        help="with the embedded engine: the LocalQueue of objects that name none (default: those need no quota)",
    )
    made.add_argument(
        "--kueue-takes-unlabelled",
        action="store_true",
        help="with Kueue: its configuration has manageJobsWithoutQueueName, so that every Ray object is Kueue's own",
    )
    made.add_argument(
        "--machine-queue",
        default="",
        metavar="NAME",
        help="with the embedded engine: keep a ClusterQueue of this name that covers the nodes, and LocalQueues to it",
    )
    made.add_argument("--ready-file", type=Path, metavar="PATH", help="written once everything is watched")
    made.add_argument("--beside-kuberay", action="store_true", help="start though KubeRay's operator seems to be alive")
    return made


def settings_of(options: argparse.Namespace) -> Settings:
    """What the flags say."""
    names = [part.strip() for given in options.watch_namespace for part in given.split(",")]
    return Settings(
        namespaces=tuple(dict.fromkeys(name for name in names if name)),
        leader_election={"auto": None, "true": True, "false": False}[options.leader_election],
        lease_namespace=options.leader_election_namespace,
        metrics_address=options.metrics_addr,
        metrics_file=options.metrics_file,
        health_address=options.health_probe_bind_address,
        ready_file=options.ready_file,
        workers=max(options.reconcile_concurrency, 1),
        check_for_kuberay=not options.beside_kuberay,
        queueing=Queueing(Admission(options.admission), options.default_queue, options.kueue_takes_unlabelled),
        machine_queue=options.machine_queue,
        use_kubernetes_proxy=options.use_kubernetes_proxy,
    )


Run = Callable[[Access, Settings], Coroutine[Any, Any, None]]


def main(words: Sequence[str] | None = None, run: Run = run, more: Sequence[argparse.ArgumentParser] = ()) -> int:
    """Work until told to stop; ``run`` is another one where more than the operator's own kinds are reconciled."""
    options = parser(more).parse_args(words)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        access = find_access(options.kubeconfig, options.context)
        run_loop(_until_told(run(access, settings_of(options))))
    except ConfigError as error:
        return _failed("the operator cannot start", str(error), "set KUBECONFIG, or give --kubeconfig")
    except OperatorError as error:
        return _failed(error.what, error.why, error.following)
    except LeadershipLost as error:
        _failed("another operator may lead now", str(error), "start it again: it waits for its turn")
        return LOST
    return 0


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    working = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, working.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await working


def _failed(what: str, why: str, following: str) -> int:
    print(f"error: {what}\n  why: {why}\n  next: {following}", file=sys.stderr)  # noqa: T201
    return REFUSED
