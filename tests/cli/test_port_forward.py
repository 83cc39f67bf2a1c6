"""``rayward port-forward``: a port of this machine for a port of a pod."""

from __future__ import annotations

import signal
import socket
import urllib.request
from typing import Any

import pytest

from rayward.cli.failure import CommandError
from rayward.cli.port_forward import read_port, target_port
from tests.cli.rayward import Rayward


@pytest.mark.parametrize("words", [["web", ":8080"], ["svc/web", ":80"], ["svc/web", ":http"], ["pod/web", ":page"]])
def test_a_page_of_the_pod_comes_here(web: Rayward, words: list[str]) -> None:
    with web.process("port-forward", *words) as running:
        assert running.stdout is not None
        told = running.stdout.readline()
        assert told.endswith("-> 8080\n")
        address = told.split()[2]
        for _ in range(2):
            with urllib.request.urlopen(f"http://{address}/", timeout=60) as answer:
                assert answer.status == 200
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0


def test_a_port_that_is_taken(web: Rayward) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = web("port-forward", "web", f"{port}:8080")
    assert done.code == 10
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert "takes any free port" in done.err


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("8080", (8080, "8080")),
        ("1:2", (1, "2")),
        (":80", (None, "80")),
        ("http", (None, "http")),
        ("8:http", (8, "http")),
    ],
)
def test_ports_as_they_are_written(text: str, meant: tuple[int | None, str]) -> None:
    assert read_port(text) == meant


@pytest.mark.parametrize("text", ["", ":", "a:b", "70000:1", "1:2:3", "-1:2"])
def test_what_is_no_port(text: str) -> None:
    with pytest.raises(CommandError) as caught:
        read_port(text)
    assert caught.value.code == 2


_POD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"ports": [{"name": "page", "containerPort": 8080}]}]},
}
_SERVICE: dict[str, Any] = {
    "metadata": {"name": "s"},
    "spec": {
        "ports": [{"name": "http", "port": 80, "targetPort": "page"}, {"port": 81, "targetPort": 9}, {"port": 82}]
    },
}


@pytest.mark.parametrize(
    ("service", "remote", "port"),
    [
        (None, "5", 5),
        (None, "page", 8080),
        (_SERVICE, "80", 8080),
        (_SERVICE, "http", 8080),
        (_SERVICE, "81", 9),
        (_SERVICE, "82", 82),
    ],
)
def test_which_port_of_the_pod_is_meant(service: dict[str, Any] | None, remote: str, port: int) -> None:
    assert target_port(_POD, service, remote) == port


@pytest.mark.parametrize(("service", "remote"), [(None, "nix"), (_SERVICE, "8080"), (_SERVICE, "page"), (None, "0")])
def test_a_port_that_is_not_there(service: dict[str, Any] | None, remote: str) -> None:
    with pytest.raises(CommandError) as caught:
        target_port(_POD, service, remote)
    assert caught.value.code == 4
