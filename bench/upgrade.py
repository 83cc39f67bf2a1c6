"""``make bench-upgrade``: upgrades of a Ray Serve service under load, by our operator and by KubeRay's.

``python -m bench.upgrade [N] [--rate R] [--delay SECONDS] [--only ours,kuberay,kuberay-tcp]``: the same real Ray on the
same API server and node, the same requests, half of them on connections that are kept; nothing is retried. With
``kuberay-tcp`` connections are forwarded as they are, as kube-proxy does; with the others our proxy moves each request.
Ends with 1 where ours loses a request or is beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from demo.load import Load, Tally
from tests.kube.kuberay_stack import kuberay_stack
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

from rayward.kube.core.resource import SERVICES
from rayward.local.addresses import ShellAddress, shell_addresses_of

_PLAIN = "plain"
_PATIENCE = 8.0
"""Seconds until a request counts as lost; not so many that a service that hangs takes all this process' sockets."""

_CONFIG = """
applications:
  - name: hello
    route_prefix: /
    import_path: hello:app
    deployments:
      - {name: Hello, max_ongoing_requests: 1000}
"""
"""With Ray's usual 5 a replica that had to wait for the CPU once works off its queue in minutes, whoever upgrades."""

_CONTROLLER_LOG = "cat /tmp/ray/session_latest/logs/serve/controller_[0-9]*.log"

Running = Callable[[Path], AbstractContextManager[RayStack]]


@dataclass(slots=True)
class Figures:
    """What one operator took, in seconds for each upgrade."""

    made: list[float] = field(default_factory=list[float])
    """From the edit until the new cluster has its first pod: until then there is nobody but the operator."""
    ready: list[float] = field(default_factory=list[float])
    """From the edit until the applications of the new cluster are RUNNING."""
    switched: list[float] = field(default_factory=list[float])
    """From the edit to the first answer of the new release."""
    returned: list[float] = field(default_factory=list[float])
    """From the edit back to a release whose cluster still stands to its first answer; KubeRay makes a new cluster."""
    tally: Tally = field(default_factory=Tally)

    @property
    def own(self) -> list[float]:
        """What a Ray cluster takes by itself: from its first pod until its applications are RUNNING."""
        return [ready - made for made, ready in zip(self.made, self.ready, strict=True)]

    @property
    def handover(self) -> list[float]:
        """From RUNNING to the first answer of the new release."""
        return [switched - ready for ready, switched in zip(self.ready, self.switched, strict=True)]


@contextmanager
def _ours(folder: Path) -> Generator[RayStack]:
    with RayStack(folder / "stack") as stack:
        yield stack


def _door(service: HelloService) -> ShellAddress:
    return service.address


def _plain_door(service: HelloService) -> ShellAddress:
    """A way to the same pods whose port is none for Serve: connections are forwarded, nobody looks into them."""
    backends = json.dumps([{"service": f"{service.name}-serve-svc"}])
    port = {"name": _PLAIN, "port": 8000, "appProtocol": "tcp"}
    metadata = {"name": _PLAIN, "annotations": {"rayward.dev/backends": backends}}
    made = service.stack.client.create(SERVICES, {"metadata": metadata, "spec": {"ports": [port]}}, "default")
    address = shell_addresses_of(made)[0]
    eventually(lambda: _answers(address), PATIENCE)
    return address


def _answers(address: ShellAddress) -> bool:
    with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
        return answer.status == HTTPStatus.OK


CONTENDERS: dict[str, tuple[str, Running, Callable[[HelloService], ShellAddress]]] = {
    "ours": ("Rayward", _ours, _door),
    "kuberay": ("KubeRay, our proxy", kuberay_stack, _door),
    "kuberay-tcp": ("KubeRay, plain TCP", kuberay_stack, _plain_door),
}


def _running_since(service: HelloService) -> float:
    """When the last replica of the cluster that serves now came up: Ray's Serve says RUNNING in the same turn.

    Read from Serve's own log afterwards, by the clock of this machine: asking the dashboard again and again would slow
    down who else asks it, and tell it only as exactly as it answers.
    """
    head = service.stack.head(service.led_to)["metadata"]["name"]
    log = service.stack.rayward("exec", head, "-c", "ray-head", "--", "sh", "-c", _CONTROLLER_LOG)
    started = [line.split(" controller ")[0] for line in log.splitlines() if "started successfully" in line]
    return max(
        datetime.strptime(f"{line}000", "INFO %Y-%m-%d %H:%M:%S,%f").astimezone().timestamp() for line in started
    )


def measure(contender: str, count: int, rate: float, delay: int) -> Figures:
    """One operator on a stack of its own."""
    _, running, door = CONTENDERS[contender]
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="rwb") as name, running(Path(name)) as stack:
        service = HelloService(stack, "hello", serveConfigV2=_CONFIG, rayClusterDeletionDelaySeconds=delay)
        eventually(lambda: service.answer()["release"] == "1" and bool(service.active), PATIENCE)
        address = door(service)
        with Load(address.host, address.shell_port, rate=rate, patience=_PATIENCE) as load:
            eventually(lambda: load.tally.answered["1"] > rate, PATIENCE)
            for release in map(str, range(2, count + 2)):
                _upgrade(service, load, release, figures)
            if contender == "ours":
                _return(service, load, str(count + 1), str(count + 2), figures)
            figures.tally = load.stop()
        service.delete()
    return figures


def _upgrade(service: HelloService, load: Load, release: str, figures: Figures) -> None:
    before = service.active
    known = service.clusters()
    began = time.time()
    service.set_release(release)
    eventually(lambda: any(service.stack.pods(name) for name in service.clusters() - known), PATIENCE)
    figures.made.append(time.time() - began)
    eventually(lambda: load.tally.answered[release] > 0, PATIENCE)
    figures.switched.append(time.time() - began)
    figures.ready.append(_running_since(service) - began)
    eventually(lambda: before not in service.clusters() and service.active != before, PATIENCE)


def _return(service: HelloService, load: Load, former: str, latest: str, figures: Figures) -> None:
    """Back and forth between two clusters that both stand."""
    service.set_release(latest, rayClusterDeletionDelaySeconds=3600)
    eventually(lambda: load.tally.answered[latest] > 0, PATIENCE)
    for release in (former, latest, former):
        service.is_available()
        figures.returned.append(_seconds_until_more(load, release, lambda to=release: service.set_release(to)))


def _seconds_until_more(load: Load, release: str, edit: Callable[[], None]) -> float:
    """From an edit to the next answer of a release that answered before."""
    count, began = load.tally.answered[release], time.time()
    edit()
    eventually(lambda: load.tally.answered[release] > count, PATIENCE)
    return time.time() - began


_COLUMNS = (
    ("requests", 10),
    ("lost", 7),
    ("edit to pods", 14),
    ("edit to RUNNING", 17),
    ("RUNNING to traffic", 20),
    ("edit to traffic", 17),
)
_MOST_HANDOVER = 1.0
_MOST_RATIO = 1.1
_HEADER = " " * 20 + "".join(f"{name:>{width}}" for name, width in _COLUMNS)


def _row(name: str, figures: Figures, reference: Figures | None) -> str:
    made, ready, handover, switched = map(
        statistics.median, (figures.made, figures.ready, figures.handover, figures.switched)
    )
    line = f"{CONTENDERS[name][0]:20}{figures.tally.sent:>10}{len(figures.tally.lost):>7}"
    line += f"{made:>12.2f} s{ready:>15.1f} s{handover:>18.2f} s{switched:>15.1f} s"
    if reference is not None and figures is not reference:
        return f"{line}   {switched / statistics.median(reference.switched):.2f} x ours"
    return f"{line}   {switched / statistics.median(figures.own):.2f} x its Ray cluster's own time"


def _beyond(ours: Figures, theirs: Figures | None) -> list[str]:
    """The limits that our figures do not keep."""
    found: list[str] = []
    if ours.tally.lost:
        found.append(f"{len(ours.tally.lost)} requests were lost")
    if (handover := statistics.median(ours.handover)) > _MOST_HANDOVER:
        found.append(f"RUNNING to traffic took {handover:.2f} s, more than {_MOST_HANDOVER} s")
    references = {"its Ray cluster's own time": ours.own} | ({"KubeRay's": theirs.switched} if theirs else {})
    for name, times in references.items():
        if (ratio := statistics.median(ours.switched) / statistics.median(times)) > _MOST_RATIO:
            found.append(f"edit to traffic took {ratio:.2f} x {name}, more than {_MOST_RATIO} x")
    return found


def main() -> None:
    """Run the contenders one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=5, help="upgrades in a row")
    parser.add_argument("--rate", type=float, default=100.0, help="requests a second")
    parser.add_argument("--delay", type=int, default=10, help="rayClusterDeletionDelaySeconds")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="contenders, with commas between")
    parsed = parser.parse_args()
    found: dict[str, Figures] = {}
    print(f"{parsed.count} upgrades, {parsed.rate:.0f} requests/s, old clusters stay for {parsed.delay} s; medians")
    print(_HEADER, flush=True)
    for name in parsed.only.split(","):
        figures = found[name] = measure(name, parsed.count, parsed.rate, parsed.delay)
        print(_row(name, figures, found.get("ours")), flush=True)
        if figures.returned:
            print(f"  back to a cluster that still stands: {statistics.median(figures.returned):.2f} s", flush=True)
        for reason in sorted({one.partition(": ")[2] for one in figures.tally.lost})[:5]:
            print(f"  lost: {reason}", flush=True)
    if "ours" in found and (beyond := _beyond(found["ours"], found.get("kuberay"))):
        raise SystemExit("; ".join(beyond))


if __name__ == "__main__":
    main()
