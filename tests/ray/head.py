"""A real Ray head as a process of this machine, for the length of a ``with`` block."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.kube.real import guard

_READY_SECONDS: Final = 180
_PORTS: Final = range(11000, 31000)
"""Below what the kernel gives to outgoing connections."""
_SPAN: Final = 100


class StartError(Exception):
    """The head ended, or did not become ready; carries the end of its output."""


class RealHead:
    """A head with its dashboard and Serve on loopback ports of its own.

    It lives in a pid namespace, so that no process of it outlives the block or whoever entered it.

    Args:
        applications: A folder whose modules Serve can import.
        token: What the dashboard asks of its callers; none, then everybody may call.
        environment: More variables for the processes of the head.

    Attributes:
        url: The dashboard.
        serve_port: For ``http_options.port`` of the first Serve configuration.
    """

    def __init__(self, applications: Path, *, token: str = "", environment: dict[str, str] | None = None) -> None:
        self._applications = applications
        self._token = token
        self._environment = environment or {}
        base = _free_ports(_SPAN)
        self._port = base
        self.serve_port = base + 9
        self.url = f"http://127.0.0.1:{base + 1}"

    def __enter__(self) -> Self:
        # Ray puts sockets under it: a path of more than 38 bytes is too long for them.
        self._folder = Path(tempfile.mkdtemp(prefix="rw"))
        self._log = self._folder / "head.log"
        watched = [sys.executable, "-S", "-E", str(guard.__file__), str(self._folder)]
        with self._log.open("ab") as stream:
            self._guard = subprocess.Popen(
                [*watched, *_contained(), *self._command()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=self._variables(),
                cwd=self._folder,
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.communicate(b".")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self) -> list[str]:
        base = self._port
        flags = {
            "node-ip-address": "127.0.0.1",
            "port": base,
            "temp-dir": self._folder / "t",
            "dashboard-host": "127.0.0.1",
            "dashboard-port": base + 1,
            "dashboard-agent-listen-port": base + 2,
            "dashboard-agent-grpc-port": base + 3,
            "metrics-export-port": base + 4,
            "runtime-env-agent-port": base + 5,
            "object-manager-port": base + 6,
            "node-manager-port": base + 7,
            "ray-client-server-port": base + 8,
            "min-worker-port": base + 20,
            "max-worker-port": base + _SPAN - 1,
            "object-store-memory": 100_000_000,
            "num-cpus": 4,
        }
        ray = Path(sys.executable).with_name("ray")
        return [
            str(ray),
            "start",
            "--head",
            "--block",
            "--disable-usage-stats",
            *(f"--{name}={value}" for name, value in flags.items()),
        ]

    def _variables(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self._folder),
            "PYTHONPATH": str(self._applications),
            "RAY_AUTH_MODE": "token" if self._token else "disabled",
            "RAY_AUTH_TOKEN": self._token,
            # All sockets on loopback, whatever networks the machine is in.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "AUTOSCALER_METRIC_PORT": str(self._port + 11),
            "DASHBOARD_METRIC_PORT": str(self._port + 12),
            **self._environment,
        }

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._answers():
            if self._guard.poll() is not None or time.monotonic() > deadline:
                raise StartError(f"ray start did not become ready:\n{self._log.read_text()[-4000:]}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        request = urllib.request.Request(
            f"{self.url}/nodes?view=summary", headers={"x-ray-authorization": f"Bearer {self._token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                nodes = json.load(answer)["data"]["summary"]
        except (urllib.error.URLError, TimeoutError, ConnectionError, ValueError):
            return False
        return any(node.get("raylet", {}).get("state") == "ALIVE" for node in nodes)


def _contained() -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"]


def _free_ports(count: int) -> int:
    """The first of ``count`` ports in a row that nobody listens on."""
    while True:
        base = random.randrange(_PORTS.start, _PORTS.stop, count)
        try:
            for port in range(base, base + count):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return base
