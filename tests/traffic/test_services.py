"""Services of real pods, seen from pods and from a shell."""

from __future__ import annotations

import socket
from pathlib import Path
from uuid import uuid4

import pytest

from rayward.kube.core.resource import SERVICES
from rayward.kube.runtime.scraping import read_target
from tests.traffic.apps import HELD, HTTP, SAY, TCP, UDP, App, got, heard
from tests.traffic.machine import Object, TrafficMachine, environment, python
from tests.waiting import eventually


def test_a_service_answers_in_pods_at_its_address_and_by_its_names_and_in_a_shell(machine: TrafficMachine) -> None:
    app = App(machine, TCP, 7000)
    service = machine.service([{"port": 80, "targetPort": 7000}], selector=app.label)
    name, address = service["metadata"]["name"], service["spec"]["clusterIP"]
    host, port = machine.shell(name)
    assert (host, port) == (f"127.43.{'.'.join(address.split('.')[2:])}", 10080)
    eventually(lambda: heard(host, port) == "hello")
    hosts = [address, name, f"{name}.default", f"{name}.default.svc", f"{name}.default.svc.cluster.local"]
    script = "\n".join(SAY.format(host, 80) for host in hosts)
    assert machine.output(python(script)) == "hello\n" * 5


def test_programs_that_use_the_proxy_reach_services_by_short_names(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    name = machine.service([{"port": 80, "targetPort": 8000}], selector=app.label)["metadata"]["name"]
    eventually(lambda: got("http://{}:{}/".format(*machine.shell(name))) == "hello")
    script = f"""
import urllib.request
for host in ({name!r}, {name + ".default"!r}, {name + ".default.svc"!r}):
    print(urllib.request.urlopen(f"http://{{host}}/").read().decode())
"""
    assert machine.output(python(script)) == "hello\n" * 3


def test_a_service_of_another_namespace_needs_its_name(machine: TrafficMachine) -> None:
    script = """
import socket
for name in ("kubernetes", "kubernetes.default", "kubernetes.other", "nothing.default"):
    try:
        print(socket.gethostbyname(name))
    except socket.gaierror:
        print("none")
"""
    assert machine.output(python(script)) == "10.43.0.1\n10.43.0.1\nnone\nnone\n"


def test_a_headless_service_is_its_pods(machine: TrafficMachine) -> None:
    app = App(machine, TCP, 7000, hostname="zero", subdomain="group")
    body = {
        "metadata": {"name": "group"},
        "spec": {"clusterIP": "None", "selector": app.label, "ports": [{"port": 7000}]},
    }
    machine.make(SERVICES, body)
    script = f"""
import socket, time
while True:
    try:
        found = [socket.gethostbyname(name) for name in ("group", "zero.group", "group.default.svc.cluster.local")]
        break
    except socket.gaierror:
        time.sleep(0.1)
print(set(found) == {{{app.address!r}}}, found)
"""
    assert machine.output(python(script)).startswith("True")
    eventually(lambda: heard(*machine.shell("group")) == "hello")


def test_the_api_server_is_a_service(machine: TrafficMachine) -> None:
    script = """
import os, ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
server = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
headers = {"Authorization": "Bearer " + open(f"{folder}/token").read()}
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
print(opener.open(urllib.request.Request(f"{server}/apis", headers=headers)).status)
try:
    opener.open(urllib.request.Request(f"{server}/api/v1/namespaces/default/secrets", headers=headers))
except urllib.error.HTTPError as refused:
    print(refused.code)
"""
    # an account that nobody gave a role may see which kinds there are, and no more
    assert machine.output(python(script)) == "200\n403\n"


def test_datagrams(machine: TrafficMachine) -> None:
    app = App(machine, UDP, 7001)
    service = machine.service([{"port": 7001, "protocol": "UDP"}], selector=app.label)
    name = service["metadata"]["name"]
    script = f"""
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(1)
while True:
    try:
        client.sendto(b"hello", ({name!r}, 7001))
        print(client.recvfrom(100)[0].decode())
        break
    except TimeoutError:
        pass
"""
    assert machine.output(python(script)) == "HELLO\n"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(30)
        client.sendto(b"shell", machine.shell(name))
        assert client.recv(100) == b"SHELL"


def test_without_endpoints_nobody_waits(machine: TrafficMachine) -> None:
    service = machine.service([{"port": 5432}, {"port": 8000, "name": "serve"}][:1], selector={"app": "nobody"})
    host, port = machine.shell(service["metadata"]["name"])

    def refused() -> bool:
        try:
            heard(host, port)
        except ConnectionResetError:
            return True
        return False

    eventually(refused)


def test_a_node_port_keeps_its_number(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    service = machine.service([{"port": 8000, "name": "serve"}], selector=app.label, type="NodePort")
    number = service["spec"]["ports"][0]["nodePort"]
    eventually(lambda: got(f"http://127.0.0.1:{number}/") == "hello")


def test_a_node_port_that_is_taken_is_told_and_the_service_answers_elsewhere(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    taken = next(one for one in (_take(number) for number in range(32000, 32700)) if one is not None)
    with taken:
        number = taken.getsockname()[1]
        port = {"port": 8000, "name": "serve", "nodePort": number}
        name = machine.service([port], selector=app.label, type="NodePort")["metadata"]["name"]
        message = machine.until_event(name, "NodePortTaken")
        assert f"TCP 127.0.0.1:{number} is taken by process " in message
        host, shell_port = machine.shell(name)
        eventually(lambda: got(f"http://{host}:{shell_port}/") == "hello")
    # Freed, it is the service's after a while.
    eventually(lambda: got(f"http://127.0.0.1:{number}/") == "hello")


def _take(number: int) -> socket.socket | None:
    try:
        return socket.create_server(("127.0.0.1", number))
    except OSError:
        return None


def test_a_shell_port_that_is_taken_moves_and_says_where(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    with socket.create_server(("0.0.0.0", 0)) as taken:
        number = taken.getsockname()[1]
        port = {"port": number, "targetPort": 8000, "appProtocol": "http"}
        name = machine.service([port], selector=app.label)["metadata"]["name"]
        eventually(lambda: machine.annotation(name, "rayward.dev/shell-ports") is not None)
        host, moved = machine.shell(name)
        assert moved != number
        eventually(lambda: got(f"http://{host}:{moved}/") == "hello")


def test_a_load_balancer_has_its_shell_address(machine: TrafficMachine) -> None:
    name = machine.service([{"port": 8000}], selector={"app": "x"}, type="LoadBalancer")["metadata"]["name"]

    def shown() -> list[Object]:
        return machine.service_now(name)["status"]["loadBalancer"]["ingress"]

    eventually(lambda: shown()[0]["ip"] == machine.shell(name)[0])


def test_traffic_is_divided_by_weight(machine: TrafficMachine) -> None:
    apps = {word: App(machine, HTTP, 8000, word) for word in ("a", "b")}
    ports = [{"port": 8000, "name": "serve"}]
    names = {word: machine.service(ports, selector=app.label)["metadata"]["name"] for word, app in apps.items()}
    text = f'[{{"service": "{names["a"]}", "weight": 3}}, {{"service": "{names["b"]}", "weight": 1}}]'
    metadata = {"annotations": {"rayward.dev/backends": text}}
    front = machine.service(ports, metadata=metadata)["metadata"]["name"]
    both = ",".join(sorted(app.pod for app in apps.values()))
    eventually(lambda: machine.annotation(front, "rayward.dev/serving") == both)
    host, port = machine.shell(front)
    told = [got(f"http://{host}:{port}/") for _ in range(40)]
    assert (told.count("a"), told.count("b")) == (30, 10)
    machine.change(front, {"metadata": {"annotations": {"rayward.dev/backends": "nonsense"}}})
    assert "rayward.dev/backends is no list" in machine.until_event(front, "BackendsInvalid")


def test_a_client_with_affinity_stays(machine: TrafficMachine) -> None:
    label = {"group": uuid4().hex[:8]}
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    for word in ("a", "b"):
        container = python(HTTP, env=environment(WORD=word), readinessProbe=probe)
        machine.until_ready(machine.run(container, metadata={"labels": label}))
    service = machine.service([{"port": 8000}], selector=label, sessionAffinity="ClientIP")
    name = service["metadata"]["name"]
    eventually(lambda: len((machine.annotation(name, "rayward.dev/serving") or "").split(",")) == 2)
    host, port = machine.shell(name)
    assert len({got(f"http://{host}:{port}/") for _ in range(10)}) == 1


def test_an_operator_sees_which_pods_serve_and_which_still_finish(machine: TrafficMachine) -> None:
    old, new = App(machine, HELD, 8000), App(machine, HTTP, 8000)
    name = machine.service([{"port": 8000, "name": "serve"}], selector=old.label)["metadata"]["name"]
    host, port = machine.shell(name)

    def until_told(serving: str, draining: str | None) -> None:
        def told() -> bool:
            found = machine.service_now(name)["metadata"].get("annotations") or {}
            assert (found.get("rayward.dev/serving"), found.get("rayward.dev/draining")) == (serving, draining)
            return True

        eventually(told)

    until_told(old.pod, None)
    with socket.create_connection((host, port), timeout=60) as client, client.makefile("rb") as heard_lines:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert heard_lines.readline() == b"HTTP/1.1 200 OK\r\n"
        machine.change(name, {"spec": {"selector": new.label}})
        until_told(new.pod, old.pod)
        assert got(f"http://{host}:{port}/") == "hello"
        assert machine.execute(old.pod, "touch", "/tmp/release")[0] == 0
        assert [heard_lines.readline() for _ in range(3)][-1] == b"end\n"
    until_told(new.pod, None)


def test_requests_are_counted(machine: TrafficMachine) -> None:
    app = App(machine, HTTP, 8000)
    name = machine.service([{"port": 8000}], selector=app.label)["metadata"]["name"]
    host, port = machine.shell(name)
    eventually(lambda: got(f"http://{host}:{port}/") == "hello")
    page = read_target(machine.folder / "node" / "traffic-metrics.json")
    labels = f'namespace="default",pod="{app.pod}",port="8000",service="{name}"'

    def counted() -> bool:
        lines = got(page).splitlines()
        values = {
            line.partition("{")[0]: float(line.rpartition(" ")[2])
            for line in lines
            if all(label in line for label in labels.split(","))
        }
        seen = ("requests_total", "answers_total", "answer_seconds_count")
        return all(values[f"rayward_traffic_{name}"] >= 1 for name in seen) and not values["rayward_traffic_in_flight"]

    eventually(counted)


def test_a_service_that_is_deleted_listens_no_more(machine: TrafficMachine) -> None:
    app = App(machine, TCP, 7000)
    name = machine.service([{"port": 7000}], selector=app.label)["metadata"]["name"]
    host, port = machine.shell(name)
    eventually(lambda: heard(host, port) == "hello")
    machine.client.delete(SERVICES, name, "default")

    def refused() -> bool:
        try:
            heard(host, port)
        except ConnectionRefusedError:
            return True
        return False

    eventually(refused)


@pytest.mark.parametrize("part", ["traffic-ready", "traffic-metrics.json"])
def test_files_that_others_wait_for(machine: TrafficMachine, part: str) -> None:
    assert Path(machine.folder, "node", part).read_text().strip()
