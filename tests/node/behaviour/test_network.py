"""Addresses, ports and names of pods."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import threading
from typing import Final

from tests.node.machine import Machine, sh
from tests.waiting import eventually

_SERVER = "cd /tmp; echo {} > index.html; exec python3 -m http.server 8000"


def test_two_pods_serve_the_same_port(machine: Machine) -> None:
    one, two = (machine.run(sh(_SERVER.format(word))) for word in ("one", "two"))
    addresses = [machine.until_ready(name)["podIP"] for name in (one, two)]
    assert all(ipaddress.ip_address(address) in ipaddress.ip_network("10.42.0.0/16") for address in addresses)
    assert len(set(addresses)) == 2
    script = "; ".join(f"until wget -q -O- http://{address}:8000/; do sleep 0.2; done" for address in addresses)
    assert machine.output(sh(script)) == "one\ntwo\n"
    for name in (one, two):
        machine.delete(name)


def test_containers_of_a_pod_share_its_network(machine: Machine) -> None:
    name = machine.run(
        sh(_SERVER.format("shared")), sh("until wget -q -O- http://localhost:8000/; do sleep 0.2; done; sleep 600")
    )
    machine.until_ready(name)
    eventually(lambda: machine.log(name, "c1") == "shared\n")
    machine.delete(name)


def test_a_pod_has_its_own_names(machine: Machine) -> None:
    said = machine.output(
        sh("hostname; cat /etc/hostname; getent hosts me | awk '{print $2}'; getent hosts db.x | awk '{print $1}'"),
        hostname="me",
        subdomain="group",
        hostAliases=[{"ip": "10.0.0.9", "hostnames": ["db.x"]}],
    )
    assert said == "me\nme\nme.group.default.svc.cluster.local\n10.0.0.9\n"


def test_names_are_asked_of_the_cluster(machine: Machine) -> None:
    said = machine.output(sh("cat /etc/resolv.conf"))
    assert said == (
        "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.43.0.10\noptions ndots:5\n"
    )


def test_the_way_out_of_a_pod_stays_whatever_other_pods_come_and_go(machine: Machine) -> None:
    # A bridge that took its link address from its pods would change it with them, and whoever knew the old one would
    # reach neither names nor services nor the API server until it is forgotten.
    known = sh("getent hosts kubernetes.default.svc > /dev/null; awk '$1 == \"10.42.0.1\" {print $4}' /proc/net/arp")
    assert machine.output(known) == machine.output(known) == "02:00:0a:2a:00:01\n"


def test_other_pods_processes_are_out_of_sight(machine: Machine) -> None:
    name = machine.run(sh("exec sleep 987654"))
    machine.until_ready(name)
    assert machine.output(sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 98765[4] || true")) == "0\n"
    machine.delete(name)


def test_low_ports_are_free_for_all(machine: Machine) -> None:
    user = {"securityContext": {"runAsUser": 1000}}
    assert (
        machine.output(sh("python3 -c 'import socket; socket.create_server((\"\", 80)); print(80)'", **user)) == "80\n"
    )


def test_the_way_out_is_the_nodes_proxy(machine: Machine) -> None:
    own = _own_address()
    listener = socket.create_server((own, 0))
    port = listener.getsockname()[1]

    def answer() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\noutside\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    script = f"import urllib.request; print(urllib.request.urlopen('http://{own}:{port}/').read())"
    assert machine.output({"name": "c", "image": "busybox", "command": ["python3", "-c", script]}) == "b'outside\\n'\n"
    thread.join(10)
    listener.close()


_WAYS_TO_LOOPBACK: Final = """
import http.client, socket, sys
port, name = sys.argv[1:]
hosts = ("127.0.0.1", "127.1", "LOCALHOST", "localhost.", "0x7f000001", "2130706433", "017700000001", "0", "[::1]",
         "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "ip6-localhost",
         "localhost.localdomain", "x.localhost", "127.0.0.1.", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]",
         "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", name)
for host in hosts:
    for ask in ("connect", "get"):
        asked = http.client.HTTPConnection("10.42.0.1", 3128, timeout=60)
        try:
            if ask == "connect":
                asked.set_tunnel(host, int(port))
                asked.request("GET", "/")
            else:
                asked.request("GET", f"http://{host}:{port}/")
            print(host, ask, asked.getresponse().status)
        except OSError as error:
            print(host, ask, str(error).split()[-2])
for address in ("127.0.0.1", "10.42.0.1", "10.43.0.1"):
    try:
        socket.create_connection((address, int(port)), 3)
        print(address, "direct", 200)
    except OSError:
        pass
"""


def _loopback_listeners() -> list[socket.socket]:
    """One of each family on one port: a way to ``::1`` where nobody listens would look like a closed one."""
    while True:
        plain = socket.create_server(("127.0.0.1", 0))
        try:
            return [plain, socket.create_server(("::1", plain.getsockname()[1]), family=socket.AF_INET6)]
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return [plain]  # this machine has no IPv6
            plain.close()


def test_no_way_leads_to_the_machines_own_loopback(machine: Machine) -> None:
    reached: list[bytes] = []
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(listener) for listener in _loopback_listeners()]

        def answer(listener: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        reached.append(client.recv(4096))
                        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        threads = [threading.Thread(target=answer, args=(listener,), daemon=True) for listener in listeners]
        for thread in threads:
            thread.start()
        command = ["python3", "-c", _WAYS_TO_LOOPBACK, str(listeners[0].getsockname()[1]), socket.gethostname()]
        said = machine.output({"name": "c", "image": "busybox", "command": command})
        for listener in listeners:
            listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join(10)
    assert reached == [], said
    assert "127.1 get 403" in said
    assert not [line for line in said.splitlines() if line.endswith(" 200")]


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return socket.gethostbyname(socket.gethostname())
        return probe.getsockname()[0]


def test_a_pod_in_the_nodes_own_network(machine: Machine) -> None:
    server = sh("exec python3 -m http.server 8123", readinessProbe={"tcpSocket": {"port": 8123}, "periodSeconds": 1})
    name = machine.run(server, hostNetwork=True)
    status = machine.until_ready(name)
    assert status["podIP"] == status["hostIP"] == "127.0.0.1"
    assert machine.output(sh("wget -q -O- http://10.42.0.1:8123/ | grep -ci directory")) != "0\n"
    machine.delete(name)
