"""Up, down and status of a real stack."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from demo.load import Load

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import verbs
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CONFIG_MAPS, NAMESPACES, PODS, SERVICES
from rayward.local.addresses import ShellAddress, shell_addresses_of
from rayward.stack import control, process, state
from rayward.stack.errors import StackError
from rayward.stack.folder import Folder
from rayward.stack.state import PartState
from tests.waiting import eventually


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path / "data")
    yield folder
    control.down(folder, purge=True)


def _up(folder: Folder) -> control.Up:
    return control.up(folder, tell=lambda _text: None)


def _client(folder: Folder) -> SyncClient:
    return SyncClient.connect(find_access(folder.kubeconfig))


def _processes(folder: Folder) -> list[str]:
    listed = subprocess.run(["ps", "-ewwo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder.root) in line]


def test_up_serves_and_down_leaves_nothing_but_the_objects(folder: Folder) -> None:
    steps: list[str] = []
    first = control.up(folder, tell=steps.append)
    assert not first.already
    assert steps[0] == f"starting in {folder.root}"
    assert [step.split()[:2] for step in steps[1:]] == [["apiserver", "ready"], ["controllers", "ready"]]
    second = _up(folder)
    assert second.already
    assert second.state.supervisor == first.state.supervisor
    with _client(folder) as client:
        client.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}, "default")
    assert oct(folder.kubeconfig.stat().st_mode)[-3:] == "600"
    assert control.down(folder, purge=False)
    assert _processes(folder) == []
    assert not folder.kubeconfig.exists()
    assert not folder.run.exists()
    _up(folder)
    with _client(folder) as client:
        assert client.get(CONFIG_MAPS, "a", "default")["data"] == {"k": "v"}
    control.down(folder, purge=True)
    assert not folder.root.exists()


def test_two_folders_run_side_by_side(folder: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other")
    try:
        _up(folder)
        _up(other)
        with _client(folder) as one, _client(other) as two:
            one.create(CONFIG_MAPS, {"metadata": {"name": "only-here"}}, "default")
            names = [item["metadata"]["name"] for item in two.list(CONFIG_MAPS, "default").items]
        assert "only-here" not in names
    finally:
        control.down(other, purge=True)


def test_a_part_that_falls_is_started_again_and_said_so(folder: Folder) -> None:
    before = _up(folder).state
    os.kill(before.parts[0].pid, signal.SIGKILL)

    def restarted() -> bool:
        seen = control.status(folder)
        return seen is not None and seen.parts[0].restarts == 1 and seen.parts[0].phase == "running"

    eventually(restarted)
    seen = control.status(folder)
    assert seen is not None
    assert seen.parts[0].reason == "was killed by SIGKILL"
    assert "apiserver was killed by SIGKILL; restarting it" in (folder.logs / "supervisor.log").read_text()

    def serving() -> bool:
        with _client(folder) as client:
            return bool(client.get(NAMESPACES, "default"))

    eventually(serving)


def test_a_killed_supervisor_ends_nothing_and_the_next_up_adopts_what_runs(folder: Folder) -> None:
    before = _up(folder).state
    os.kill(before.supervisor, signal.SIGKILL)
    eventually(lambda: state.unsupervised(folder) is not None)
    assert control.status(folder) is None
    with _client(folder) as client:
        client.create(CONFIG_MAPS, {"metadata": {"name": "meanwhile"}}, "default")
    steps: list[str] = []
    again = control.up(folder, tell=steps.append)
    assert again.already
    assert steps[0] == f"adopting the parts that run in {folder.root}: their supervisor was killed"
    assert again.state.supervisor != before.supervisor
    assert [(part.name, part.pid) for part in again.state.parts] == [(part.name, part.pid) for part in before.parts]
    os.kill(before.parts[0].pid, signal.SIGKILL)

    def restarted() -> bool:
        seen = control.status(folder)
        return seen is not None and seen.parts[0].reason == "ended" and seen.parts[0].phase == "running"

    eventually(restarted)
    assert control.down(folder, purge=False)
    assert _processes(folder) == []


_ECHO = """
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        (name,) = parse_qs(urlsplit(self.path).query)["name"]
        body = json.dumps({"hello": name, "release": "1"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass

class Server(ThreadingHTTPServer):
    request_queue_size = 128

Server(("", 8000), Echo).serve_forever()
"""


def _echo(client: SyncClient) -> ShellAddress:
    """A pod that answers, and where its Service does so."""
    container = {
        "name": "main",
        "image": "python",
        "command": ["python3", "-c", _ECHO],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    labels = {"app": "echo"}
    client.create(
        PODS, {"metadata": {"name": "echo", "labels": labels}, "spec": {"containers": [container]}}, "default"
    )
    spec = {"selector": labels, "ports": [{"name": "serve", "port": 8000}]}
    made = client.create(SERVICES, {"metadata": {"name": "echo"}, "spec": spec}, "default")
    (address,) = shell_addresses_of(made)

    def answers() -> bool:
        with urllib.request.urlopen(f"http://{address}/?name=x", timeout=5) as answer:
            return answer.status == 200

    eventually(answers)
    return address


def test_a_killed_supervisor_loses_no_request_and_up_adopts_traffic_and_node(folder: Folder) -> None:
    before = control.up(folder, node=[], tell=lambda _text: None).state
    with _client(folder) as client:
        address = _echo(client)
        uid = client.get(PODS, "echo", "default")["metadata"]["uid"]
    # Half of the requests are over connections that are kept, half over new ones.
    with Load(address.host, address.shell_port, rate=50, patience=120) as load:
        eventually(lambda: load.tally.answered.total() > 50)
        os.kill(before.supervisor, signal.SIGKILL)
        eventually(lambda: state.unsupervised(folder) is not None)
        alone = load.tally.answered.total()
        eventually(lambda: load.tally.answered.total() > alone + 50)
        again = control.up(folder, node=[], tell=lambda _text: None)
        adopted = load.tally.answered.total()
        eventually(lambda: load.tally.answered.total() > adopted + 50)
        tally = load.stop()
    assert tally.lost == []
    assert again.already
    # The second of traffic may not have been started yet: it waits until all others run.
    ran = {(part.name, part.pid) for part in before.parts if part.pid}
    assert {name for name, _ in ran} >= {"node", "traffic"}
    assert {(part.name, part.pid) for part in again.state.parts} >= ran
    with _client(folder) as client:
        assert client.get(PODS, "echo", "default")["metadata"]["uid"] == uid
        (container,) = client.get(PODS, "echo", "default")["status"]["containerStatuses"]
        assert container["restartCount"] == 0


@dataclass
class _Requests:
    """Requests one after the other, each over a connection of its own; none is repeated."""

    address: ShellAddress
    answered: int = 0
    lost: list[tuple[float, float, Exception]] = field(default_factory=list[tuple[float, float, Exception]])
    """When each that got no good answer began and ended, and why."""
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask until told to stop."""
        while not self.stopping.is_set():
            began, connection = time.monotonic(), HTTPConnection(self.address.host, self.address.shell_port, timeout=60)
            try:
                connection.request("GET", "/?name=x")
                answer = connection.getresponse()
                assert (answer.status, answer.read()) == (200, b'{"hello": "x", "release": "1"}')
                self.answered += 1
            except (OSError, HTTPException, AssertionError) as error:
                self.lost.append((began, time.monotonic(), error))
            finally:
                connection.close()


def _running(folder: Folder, name: str) -> PartState:
    seen = control.status(folder)
    assert seen is not None
    (part,) = [part for part in seen.parts if part.name == name]
    assert part.phase == "running", part
    return part


def test_killed_traffic_loses_no_request_that_it_had_not_read(folder: Folder) -> None:
    control.up(folder, node=[], tell=lambda _text: None)
    with _client(folder) as client:
        address = _echo(client)
    clients = [_Requests(address) for _ in range(4)]
    threads = [threading.Thread(target=each.run) for each in clients]

    def answered() -> int:
        return sum(each.answered for each in clients)

    for thread in threads:
        thread.start()
    killed: list[tuple[float, float]] = []
    try:
        # Whichever serves: the second time it is the one that was the spare.
        for name in ("traffic", "traffic-2"):
            for other in ("traffic", "traffic-2"):
                eventually(lambda other=other: bool(_running(folder, other)))
            before = answered()
            eventually(lambda before=before: answered() > before + 100)
            part, began = _running(folder, name), time.monotonic()
            os.kill(part.pid, signal.SIGKILL)
            eventually(lambda part=part: not process.is_alive(part.pid, part.born))
            killed.append((began, time.monotonic()))
            before = answered()
            eventually(lambda before=before: answered() > before + 150)
    finally:
        for each in clients:
            each.stopping.set()
        for thread in threads:
            thread.join()
    assert answered() >= 500
    lost = [found for each in clients for found in each.lost]
    # What a process has read dies with it: one request of each client at most, and none that came later.
    late = [error for began, ended, error in lost if not any(began < gone and ended > at for at, gone in killed)]
    assert late == []
    assert len(lost) <= len(clients) * len(killed)


def test_down_waits_for_what_a_killed_supervisor_left(folder: Folder) -> None:
    os.kill(_up(folder).state.supervisor, signal.SIGKILL)
    assert control.down(folder, purge=False)
    assert _processes(folder) == []


def test_a_pod_runs_and_says_something(folder: Folder) -> None:
    control.up(folder, node=[], tell=lambda _text: None)
    script = (
        "import os, socket; print('hello from', socket.gethostname())\n"
        f"print(os.path.exists({str(folder.root / 'pki' / 'token')!r}), os.access({str(folder.kubeconfig)!r}, os.R_OK)"
        f" and os.path.getsize({str(folder.kubeconfig)!r}) > 0)"
    )
    container = {"name": "main", "image": "python", "command": ["python3", "-c", script]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    with _client(folder) as client:
        client.create(PODS, {"metadata": {"name": "talker"}, "spec": spec}, "default")
        eventually(lambda: client.get(PODS, "talker", "default")["status"]["phase"] == "Succeeded")
        log = client.answer(verbs.get(PODS, "talker", "default", subresource="log"))
    assert log.body == b"hello from talker\nFalse False\n"
    control.down(folder, purge=True)
    assert _processes(folder) == []


def test_nothing_survives_down_even_if_all_who_kept_it_were_killed(folder: Folder) -> None:
    seen = control.up(folder, node=[], tell=lambda _text: None).state
    mark = f"sleeper {folder.root}"
    container = {"name": "main", "image": "python", "command": ["python3", "-c", "import time; time.sleep(600)", mark]}
    with _client(folder) as client:
        client.create(PODS, {"metadata": {"name": "sleeper"}, "spec": {"containers": [container]}}, "default")
        eventually(lambda: client.get(PODS, "sleeper", "default")["status"]["phase"] == "Running")
        eventually(lambda: any(mark in line for line in _processes(folder)))
    node = next(part.pid for part in seen.parts if part.name == "node")
    os.kill(seen.supervisor, signal.SIGSTOP)
    os.kill(node, signal.SIGKILL)
    os.kill(seen.supervisor, signal.SIGKILL)
    assert any(mark in line for line in _processes(folder)), "the pod outlives its node"
    control.down(folder, purge=False)
    assert _processes(folder) == []


def test_the_operator_finds_rays_kinds_defined(folder: Folder) -> None:
    seen = control.up(folder, operator=True, tell=lambda _text: None)
    assert [(part.name, part.phase) for part in seen.state.parts][-1] == ("operator", "running")
    assert seen.failing == ()
    with _client(folder) as client:
        assert client.list(RAY_CLUSTERS).items == []


def test_a_stack_that_cannot_start_says_why(folder: Folder) -> None:
    folder.root.mkdir()
    (folder.root / "store.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(StackError) as caught:
        _up(folder)
    assert "apiserver" in caught.value.why
    assert state.is_running(folder) is False
