"""A whole machine for tests of the traffic: API server, controllers, node and traffic as processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import pytest

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import SERVICES
from rayward.local.addresses import shell_addresses_of
from rayward.local.node.capabilities import missing_in_child
from tests.identity import own_kubeconfig
from tests.node.machine import Machine, Object


def require_pods() -> None:
    """Skip, with the reason, where pods cannot run."""
    refused = missing_in_child()
    if refused:
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")


class TrafficMachine(Machine):
    """The machine of the node's tests, with services."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.start_traffic()
        except BaseException:
            super().__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_traffic()
        super().__exit__(kind, error, trace)

    def start_traffic(self, name: str = "traffic") -> None:
        """Start it, and wait until it serves; a second one, of another name, until it would."""
        ready = self.folder / "node" / f"{name}-ready"
        ready.unlink(missing_ok=True)
        config = self.folder / f"{name}-kubeconfig"
        shutil.copy(own_kubeconfig(self.kubeconfig, "traffic"), config)
        if self._user is not None:
            os.chown(config, self._user, self._user)
        place = ("--data-dir", str(self.folder / "node"), "--ready-file", str(ready))
        self._start(name, "rayward.local.traffic", "--kubeconfig", str(config), *place, user=self._user)
        self._wait(name, ready.exists)

    def stop_traffic(self, number: int = signal.SIGTERM, name: str = "traffic") -> int:
        """End it; returns its exit code."""
        process: subprocess.Popen[bytes] = self._processes.pop(name)
        process.send_signal(number)
        return process.wait(30)

    def service(self, ports: list[Object], *, metadata: Object | None = None, **spec: Any) -> Object:
        """Create a service."""
        name = f"svc-{uuid4().hex[:8]}"
        return self.make(SERVICES, {"metadata": {"name": name, **(metadata or {})}, "spec": {"ports": ports, **spec}})

    def service_now(self, name: str) -> Object:
        """A service as it is."""
        return self.client.get(SERVICES, name, "default")

    def annotation(self, name: str, key: str) -> str | None:
        """An annotation of a service."""
        return (self.service_now(name)["metadata"].get("annotations") or {}).get(key)

    def change(self, name: str, patch: Object) -> Object:
        """Change a service."""
        return self.client.patch(SERVICES, name, patch, PatchType.MERGE, "default")

    def shell(self, name: str) -> tuple[str, int]:
        """Where the first port of a service answers here."""
        found = shell_addresses_of(self.service_now(name))[0]
        return found.host, found.shell_port


def python(script: str, **more: Any) -> Object:
    """A container that runs a Python script of this environment."""
    command = [sys.executable, "-c", script]
    return {"name": "c", "image": "python", "command": command, **more}


def environment(**values: str) -> list[Object]:
    """Variables of a container."""
    return [{"name": name, "value": value} for name, value in values.items()]
