"""The operator's flags, and how its process starts and ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

import click

from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.durations import duration
from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.config import find_access
from rayward.kube.runtime.leader import LeadershipLost
from rayward.net.loop import run_loop
from rayward.operator.base.writing import WORKERS
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings, run

REFUSED = 10
LOST = 11


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    del context, parameter
    found = duration(value) if value else None
    if value and found is None:
        raise click.BadParameter(f"{value} is not a duration: write 10m, or a number of seconds")
    return found.total_seconds() if found is not None else None


_PATH: Final = click.Path(path_type=Path)
_FLAGS: Final = (
    click.option(
        "--kubeconfig", type=_PATH, help="Kubeconfig of the cluster (default: KUBECONFIG, ~/.kube/config, the pod's)."
    ),
    click.option("--context", help="Context of the kubeconfig."),
    click.option(
        "--watch-namespace",
        multiple=True,
        metavar="NS[,NS]",
        help="Watch only these namespaces; may be repeated (default: all).",
    ),
    click.option(
        "--leader-election",
        type=click.Choice(["auto", "true", "false"]),
        default="auto",
        help="Whether operators elect a leader (auto: unless the API server is on this machine).",
    ),
    click.option("--leader-election-namespace", default="", metavar="NS", help="Namespace of the lease."),
    click.option("--metrics-addr", default="", metavar="[HOST]:PORT", help="Serve /metrics there; port 0: a free one."),
    click.option(
        "--metrics-file",
        type=_PATH,
        metavar="PATH",
        help="Write the address of /metrics there, as Prometheus reads it.",
    ),
    click.option(
        "--health-probe-bind-address", default="", metavar="[HOST]:PORT", help="Serve /healthz and /readyz there."
    ),
    click.option(
        "--reconcile-concurrency",
        type=int,
        default=WORKERS,
        metavar="N",
        help="How many objects of a kind are reconciled at once.",
    ),
    click.option(
        "--use-kubernetes-proxy", is_flag=True, help="Reach dashboards through the API server, from anywhere."
    ),
    click.option(
        "--admission",
        type=click.Choice([str(each) for each in Admission]),
        default=str(Admission.NONE),
        help="Who admits Ray objects with a queue's label: the embedded engine, or Kueue (default: none; they wait).",
    ),
    click.option(
        "--default-queue",
        default="",
        metavar="NAME",
        help="With the embedded engine: the LocalQueue of objects that name none (default: those need no quota).",
    ),
    click.option(
        "--kueue-takes-unlabelled",
        is_flag=True,
        help="With Kueue: its configuration has manageJobsWithoutQueueName, so that every Ray object is Kueue's own.",
    ),
    click.option(
        "--machine-queue",
        default="",
        metavar="NAME",
        help="With the embedded engine: keep a ClusterQueue of this name that covers the nodes, and LocalQueues to it.",
    ),
    click.option(
        "--fair-sharing",
        is_flag=True,
        help="With the embedded engine: queues of a cohort borrow by their weights, not by priority.",
    ),
    click.option(
        "--pods-ready-timeout",
        metavar="TIME",
        callback=_seconds,
        help="With the embedded engine: evict what is not ready so long after it was admitted (default: never).",
    ),
    click.option(
        "--block-until-pods-ready",
        is_flag=True,
        help="With the embedded engine: admit nothing while pods that were admitted are not ready.",
    ),
    click.option("--ready-file", type=_PATH, metavar="PATH", help="File to write once all watches have synced."),
    click.option("--beside-kuberay", is_flag=True, help="Start even if KubeRay's operator seems to be running."),
)

Options = Mapping[str, Any]
"""The values of ``flags``, by the names that click gives them."""


def flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every flag of the operator."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def settings_of(options: Options) -> Settings:
    """What the flags say."""
    names = [part.strip() for given in options["watch_namespace"] for part in given.split(",")]
    return Settings(
        namespaces=tuple(dict.fromkeys(name for name in names if name)),
        leader_election={"auto": None, "true": True, "false": False}[options["leader_election"]],
        lease_namespace=options["leader_election_namespace"],
        metrics_address=options["metrics_addr"],
        metrics_file=options["metrics_file"],
        health_address=options["health_probe_bind_address"],
        ready_file=options["ready_file"],
        workers=max(options["reconcile_concurrency"], 1),
        check_for_kuberay=not options["beside_kuberay"],
        queueing=Queueing(Admission(options["admission"]), options["default_queue"], options["kueue_takes_unlabelled"]),
        machine_queue=options["machine_queue"],
        fair_sharing=options["fair_sharing"],
        pods_ready_timeout=options["pods_ready_timeout"],
        block_until_pods_ready=options["block_until_pods_ready"],
        use_kubernetes_proxy=options["use_kubernetes_proxy"],
    )


Run = Callable[[Access, Settings], Coroutine[Any, Any, None]]


@click.command("rayward.operator")
@flags
def main(**options: Any) -> None:
    """Run Rayward's operator for RayClusters, RayServices, RayJobs and RayCronJobs."""
    sys.exit(start(options))


def start(options: Options, run: Run = run) -> int:
    """Work until told to stop; returns the exit code.

    ``run`` is another one where more than the operator's own kinds are reconciled.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        access = find_access(options["kubeconfig"], options["context"])
        run_loop(_until_told(run(access, settings_of(options))))
    except ConfigError as error:
        return _failed("the operator cannot start", str(error), "set KUBECONFIG, or give --kubeconfig")
    except OperatorError as error:
        return _failed(error.what, error.why, error.following)
    except LeadershipLost as error:
        _failed("another operator may lead now", str(error), "start it again: it waits until it is elected leader")
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
