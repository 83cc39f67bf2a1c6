"""Pods, services and nodes behind the API server's proxy."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import socket
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import yaml

from rayward.kube.core.resource import SERVICES
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_PODS = "/api/v1/namespaces/default/pods"
_SERVICES = "/api/v1/namespaces/default/services"


class Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> str:
        return json.loads(self.body)["message"]


def _connection(machine: Machine) -> tuple[http.client.HTTPSConnection, str]:
    content = yaml.safe_load(machine.kubeconfig.read_text())
    cluster, token = content["clusters"][0]["cluster"], content["users"][0]["user"]["token"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    place = urlsplit(cluster["server"]).netloc
    context = ssl.create_default_context(cadata=authority)
    return http.client.HTTPSConnection(place, context=context, timeout=60), token


def _call(machine: Machine, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    connection, token = _connection(machine)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", **named})
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_reaches_a_pod(machine: Machine, pages: str, method: str) -> None:
    body = None if method in {"GET", "OPTIONS"} else b"content"
    answer = _call(
        machine, method, f"{_PODS}/{pages}/proxy/a%20b/c?x=%20y", body, Cookie="a=b", X_Forwarded_For="1.2.3.4"
    )
    told = json.loads(answer.body)
    assert (answer.code, told["line"], told["body"]) == (
        200,
        f"{method} /a%20b/c?x=%20y HTTP/1.1",
        "content" if body else "",
    )
    headers = {name.lower(): value for name, value in told["headers"]}
    assert headers["x-forwarded-for"] == "1.2.3.4, 127.0.0.1"
    assert headers["x-forwarded-uri"] == f"{_PODS}/{pages}/proxy/a%20b/c"
    assert headers["cookie"] == "a=b"
    assert "authorization" not in headers, "the caller's key is none of the pod's business"


def test_a_head_without_a_body(machine: Machine, pages: str) -> None:
    answer = _call(machine, "HEAD", f"{_PODS}/{pages}:8000/proxy/hello")
    assert (answer.code, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(f"hello from {pages}"))


def test_other_methods_are_not_known(machine: Machine, pages: str) -> None:
    assert _call(machine, "TRACE", f"{_PODS}/{pages}/proxy/").code == 405


def test_an_answer_other_than_good_is_handed_on(machine: Machine, pages: str) -> None:
    answer = _call(machine, "GET", f"{_PODS}/{pages}/proxy/missing")
    assert (answer.code, answer.headers["set-cookie"], answer.body) == (404, "a=b", b"not here")


def test_a_path_without_its_slash_is_sent_there(machine: Machine, pages: str) -> None:
    answer = _call(machine, "GET", f"{_PODS}/{pages}/proxy?x=y")
    assert (answer.code, answer.headers["location"]) == (301, f"{_PODS}/{pages}/proxy/?x=y")
    assert json.loads(_call(machine, "POST", f"{_PODS}/{pages}/proxy").body)["line"] == "POST / HTTP/1.1"


def test_redirects_and_links_lead_through_the_proxy(machine: Machine, pages: str) -> None:
    prefix = f"{_PODS}/{pages}/proxy"
    answer = _call(machine, "GET", f"{prefix}/redirect")
    assert (answer.code, answer.headers["location"]) == (302, f"{prefix}/hello?x=1")
    page = _call(machine, "GET", f"{prefix}/page", Accept_Encoding="identity")
    seen = f'<html><a href="{prefix}/hello">h</a><a href="rel">r</a></html>'
    assert gzip.decompress(page.body).decode() == seen


def test_an_answer_comes_as_it_is_made(machine: Machine, pages: str) -> None:
    connection, token = _connection(machine)
    connection.request("GET", f"{_PODS}/{pages}/proxy/stream", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    assert answer.read(5) == b"first"
    # only now will the pod go on
    assert _call(machine, "GET", f"{_PODS}/{pages}/proxy/seen").code == 200
    assert answer.read() == b"second"
    connection.close()


def test_a_body_without_a_known_length(machine: Machine, pages: str) -> None:
    parts = (b"part %d " % number for number in range(5))
    told = json.loads(_call(machine, "POST", f"{_PODS}/{pages}/proxy/", parts).body)
    assert told["body"] == "part 0 part 1 part 2 part 3 part 4 "


def test_an_answer_that_breaks_off_is_not_taken_for_whole(machine: Machine, pages: str) -> None:
    with pytest.raises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
        _call(machine, "GET", f"{_PODS}/{pages}/proxy/broken")


def test_a_websocket_passes_through(machine: Machine, pages: str) -> None:
    connection, token = _connection(machine)
    connection.connect()
    assert isinstance(connection.sock, socket.socket)
    connection.sock.sendall(
        f"GET {_PODS}/{pages}/proxy/socket HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    heard = b""
    while b"hello" not in heard:
        part = connection.sock.recv(4096)
        assert part, heard
        heard += part
    assert heard.startswith(b"HTTP/1.1 101 ")
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in heard
    assert heard.endswith(b"\x81\x05hello")
    connection.close()


def test_who_wants_another_protocol_than_the_pod(machine: Machine, pages: str) -> None:
    answer = _call(machine, "GET", f"{_PODS}/{pages}/proxy/hello", Connection="Upgrade", Upgrade="other")
    assert (answer.code, answer.message) == (500, "invalid upgrade response: status code 200")
    missing = _call(machine, "GET", f"{_PODS}/{pages}/proxy/missing", Connection="Upgrade", Upgrade="other")
    assert (missing.code, missing.body) == (404, b"not here")


def test_a_pod_that_cannot_be_reached(machine: Machine, pages: str) -> None:
    address = machine.status(pages)["podIP"]
    refused = _call(machine, "GET", f"{_PODS}/{pages}:81/proxy/")
    reached = f"error trying to reach service: dial tcp {address}:81: connect: connection refused"
    assert (refused.code, refused.message) == (503, reached)
    assert _call(machine, "GET", f"{_PODS}/https:{pages}:8000/proxy/").message.startswith(
        "error trying to reach service: tls: "
    )
    odd = _call(machine, "GET", f"{_PODS}/ftp:{pages}:1/proxy/")
    assert (odd.code, odd.message) == (400, f'invalid pod request "ftp:{pages}:1"')
    none = _call(machine, "GET", f"{_PODS}/nobody/proxy/")
    assert (none.code, none.message) == (404, 'pods "nobody" not found')


def test_a_pod_that_has_no_address(machine: Machine) -> None:
    name = machine.run(sh("exit"), nodeSelector={"no": "where"})
    answer = _call(machine, "GET", f"{_PODS}/{name}/proxy/")
    assert (answer.code, answer.message) == (400, "address not allowed")
    machine.delete(name)


def test_a_service(machine: Machine, pages: str) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": 8000}]
    machine.make(SERVICES, {"metadata": {"name": "pages"}, "spec": {"selector": {"app": pages}, "ports": ports}})
    expected = f"hello from {pages}".encode()
    eventually(lambda: _call(machine, "GET", f"{_SERVICES}/pages:80/proxy/hello").body == expected)
    for name in ("pages:web", "http:pages:web"):
        assert _call(machine, "GET", f"{_SERVICES}/{name}/proxy/hello").body == expected
    for name, why in (
        ("pages", 'no endpoints available for service "pages"'),
        ("pages:other", 'no endpoints available for service "pages:other"'),
        ("pages:81", 'no service port 81 found for service "pages"'),
    ):
        refused = _call(machine, "GET", f"{_SERVICES}/{name}/proxy/")
        assert (refused.code, refused.message) == (503, why)
    missing = _call(machine, "GET", f"{_SERVICES}/nobody:80/proxy/")
    assert (missing.code, missing.message) == (404, 'services "nobody" not found')


def test_a_service_without_pods(machine: Machine) -> None:
    machine.make(
        SERVICES, {"metadata": {"name": "empty"}, "spec": {"selector": {"app": "none"}, "ports": [{"port": 80}]}}
    )
    answer = _call(machine, "GET", f"{_SERVICES}/empty:80/proxy/")
    assert (answer.code, answer.message) == (503, 'no endpoints available for service "empty"')


def test_a_nodes_kubelet(machine: Machine, pages: str) -> None:
    node = machine.pod(pages)["spec"]["nodeName"]
    assert _call(machine, "GET", f"/api/v1/nodes/{node}/proxy/healthz").body == b"ok"
    listed = json.loads(_call(machine, "GET", f"/api/v1/nodes/{node}/proxy/pods").body)
    assert pages in {pod["metadata"]["name"] for pod in listed["items"]}
    elsewhere = _call(machine, "GET", f"/api/v1/nodes/{node}:22/proxy/")
    assert (elsewhere.code, elsewhere.message) == (400, "address not allowed")


def test_nobody_passes_without_a_key(machine: Machine, pages: str) -> None:
    assert _call(machine, "GET", f"{_PODS}/{pages}/proxy/hello", Authorization="Bearer forged").code == 401
