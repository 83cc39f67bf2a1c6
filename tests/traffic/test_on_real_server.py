"""The same traffic on a real kube-apiserver with kube-controller-manager, seen by kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.real.cluster import RealControlPlane
from tests.traffic.apps import HTTP, TCP, App, got, heard
from tests.traffic.machine import TrafficMachine, python, require_pods
from tests.waiting import eventually

pytestmark = pytest.mark.kube


class _OnRealServer(TrafficMachine):
    """A machine whose API server is Kubernetes' own."""

    def __init__(self, plane: RealControlPlane) -> None:
        super().__init__("--name", "here")
        self.plane = plane

    def start_control_plane(self) -> Path:
        return self.plane.kubeconfig


@pytest.fixture(scope="module")
def real() -> Iterator[_OnRealServer]:
    require_pods()
    with RealControlPlane(controller_manager=True) as plane, _OnRealServer(plane) as machine:
        yield machine


def test_a_service_answers_in_pods_and_in_a_shell(real: _OnRealServer) -> None:
    app = App(real, TCP, 7000)
    name = real.service([{"port": 80, "targetPort": 7000}], selector=app.label)["metadata"]["name"]
    host, port = real.shell(name)
    eventually(lambda: heard(host, port) == "hello")
    script = f"import socket; print(socket.create_connection(({name!r}, 80)).recv(100).decode())"
    uid = real.run(python(script))
    assert real.until_phase(uid, "Succeeded", "Failed")["phase"] == "Succeeded"


def test_the_api_server_is_a_service(real: _OnRealServer) -> None:
    script = "import socket; socket.create_connection(('kubernetes.default.svc', 443), 10)"
    assert real.until_phase(real.run(python(script)), "Succeeded", "Failed")["phase"] == "Succeeded"


def test_kubectl_shows_the_address_of_a_load_balancer_and_who_serves(real: _OnRealServer) -> None:
    app = App(real, HTTP, 8000)
    ports = [{"port": 8000, "name": "serve"}]
    name = real.service(ports, selector=app.label, type="LoadBalancer")["metadata"]["name"]
    host, port = real.shell(name)
    eventually(lambda: got(f"http://{host}:{port}/") == "hello")
    eventually(lambda: real.plane.run_kubectl("get", "service", name).stdout.split()[9] == host)
    eventually(lambda: real.annotation(name, "rayward.dev/serving") == app.pod)
