"""The traffic killed, and the network of the pods made anew."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException

import pytest

from rayward.kube.core.resource import SERVICES
from tests.traffic.apps import HTTP, SAY, TCP, App, got, heard
from tests.traffic.machine import TrafficMachine, python, require_pods
from tests.waiting import eventually


@pytest.fixture(scope="module")
def machine() -> Iterator[TrafficMachine]:
    require_pods()
    with TrafficMachine() as running:
        yield running


def test_killed_and_started_again_everything_is_where_it_was(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    service = machine.service([{"port": 8000, "name": "serve"}], selector=app.label, type="NodePort")
    name, number = service["metadata"]["name"], service["spec"]["ports"][0]["nodePort"]
    host, port = machine.shell(name)
    eventually(lambda: got(f"http://{host}:{port}/") == "hello")
    for _ in range(5):
        machine.stop_traffic(signal.SIGKILL)
        machine.start_traffic()
        assert machine.shell(name) == (host, port)
        assert got(f"http://{host}:{port}/") == "hello"
        assert got(f"http://127.0.0.1:{number}/") == "hello"
        script = f"import socket; socket.create_connection(({name!r}, 8000)); print('reached')"
        assert machine.output(python(script)) == "reached\n"


class _Client:
    """Asks until told to stop, over a new connection each time or over one that it keeps, as HTTP clients do.

    A connection that ends without an answer is a request to repeat once (RFC 9110, 9.2.2); more is a lost one.
    """

    def __init__(self, host: str, port: int, *, keeps: bool) -> None:
        self._connection = HTTPConnection(host, port, timeout=60)
        self._keeps = keeps
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answered = 0
        self.repeated = 0
        self.lost: list[Exception] = []
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._ask()
            except ConnectionRefusedError as error:
                self.lost.append(error)
            except (OSError, HTTPException):
                self.repeated += 1
                try:
                    self._ask()
                except (OSError, HTTPException) as error:
                    self.lost.append(error)

    def _ask(self) -> None:
        try:
            self._connection.request("GET", "/")
            answer = self._connection.getresponse()
            if (answer.status, answer.read()) != (200, b"hello"):
                raise HTTPException(f"answered {answer.status}")
            self.answered += 1
        except BaseException:
            self._connection.close()
            raise
        if not self._keeps:
            self._connection.close()


def test_killed_beside_a_standby_no_client_is_refused_and_no_request_is_lost(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    service = machine.service([{"port": 8000, "name": "serve"}], selector=app.label)
    name = service["metadata"]["name"]
    host, port = machine.shell(name)
    machine.start_traffic("second")
    eventually(lambda: got(f"http://{host}:{port}/") == "hello")
    clients = [_Client(host, port, keeps=number % 2 == 0) for number in range(4)]
    try:
        serving, waiting = "traffic", "second"
        kills = 3
        for _ in range(kills):
            count = sum(client.answered for client in clients)
            machine.stop_traffic(signal.SIGKILL, serving)
            eventually(lambda count=count: sum(client.answered for client in clients) > count + 150)
            machine.start_traffic(serving)
            serving, waiting = waiting, serving
    finally:
        for client in clients:
            client.stop()
        machine.stop_traffic(name="second")
    assert [error for client in clients for error in client.lost] == []
    # Each client had one connection when the process died: no more than that can end with it.
    assert all(client.repeated <= kills for client in clients)


def test_what_a_standby_holds_is_what_is_open(machine: TrafficMachine) -> None:
    machine.start_traffic("second")
    app = App(machine, TCP, 7000)
    later = machine.service([{"port": 7000}], selector=app.label)
    host, port = machine.shell(later["metadata"]["name"])
    eventually(lambda: heard(host, port) == "hello")
    gone = machine.service([{"port": 7000}], selector=app.label)
    place = machine.shell(gone["metadata"]["name"])
    eventually(lambda: heard(*place) == "hello")
    machine.client.delete(SERVICES, gone["metadata"]["name"], "default")
    eventually(lambda: not _listens(*place))
    machine.stop_traffic(signal.SIGKILL)
    try:
        assert heard(host, port) == "hello"
        script = SAY.format(later["spec"]["clusterIP"], 7000)
        assert machine.output(python(script)) == "hello\n"
        assert not _listens(*place)
    finally:
        machine.stop_traffic(name="second")
        machine.start_traffic()


def test_asked_to_end_it_leaves_its_listeners_to_the_standby(machine: TrafficMachine) -> None:
    app = App(machine, TCP, 7000)
    service = machine.service([{"port": 7000}], selector=app.label)
    host, port = machine.shell(service["metadata"]["name"])
    machine.start_traffic("second")
    assert machine.stop_traffic() == 0
    try:
        assert heard(host, port) == "hello"
    finally:
        assert machine.stop_traffic(name="second") == 0
        machine.start_traffic()


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


def test_asked_to_end_it_ends_well(machine: TrafficMachine) -> None:
    assert machine.stop_traffic() == 0
    assert not (machine.folder / "node" / "traffic-ready").exists()
    machine.start_traffic()


def test_pods_of_a_node_that_started_anew_are_served(machine: TrafficMachine) -> None:
    before = App(machine, TCP, 7000)
    service = machine.service([{"port": 7000}], selector=before.label)
    host, port = machine.shell(service["metadata"]["name"])
    eventually(lambda: heard(host, port) == "hello")
    machine.stop_node()
    machine.start_node()
    after = App(machine, TCP, 7000, "again")
    machine.change(service["metadata"]["name"], {"spec": {"selector": after.label}})
    eventually(lambda: heard(host, port) == "again")
    said: list[str] = []

    def reached() -> bool:
        said[:] = [machine.output(python(SAY.format(service["spec"]["clusterIP"], 7000)))]
        return True

    eventually(reached)
    assert said == ["again\n"]
