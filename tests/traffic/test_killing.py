"""The traffic killed, and the network of the pods made anew."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.traffic.apps import HTTP, SAY, TCP, App, got, heard
from tests.traffic.machine import TrafficMachine, python, require_pods
from tests.waiting import eventually


@pytest.fixture
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
