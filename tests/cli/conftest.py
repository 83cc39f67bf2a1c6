"""A stack for the commands, started once, and a namespace for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NAMESPACES, SERVICE_ACCOUNTS
from rayward.stack import control
from rayward.stack.folder import Folder
from tests.cli.rayward import Rayward
from tests.waiting import eventually

_WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: main
    image: python
    command: [sh, -c, "echo I am up; exec python3 -m http.server 8080"]
    ports: [{containerPort: 8080, name: page}]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
  - name: helper
    image: python
    command: [python3, -u, -c, "print('helping'); import time; time.sleep(3600)"]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: page, name: http}]}
"""


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = Folder(tmp_path_factory.mktemp("cli") / "data")
    control.up(folder, node=[], tell=lambda _text: None)
    yield folder.root
    control.down(folder, purge=True)


def _namespace(stack: Path) -> str:
    name = f"t{uuid.uuid4().hex[:8]}"
    with SyncClient.connect(find_access(Folder(stack).kubeconfig)) as client:
        client.create(NAMESPACES, {"metadata": {"name": name}})
        eventually(lambda: bool(client.get(SERVICE_ACCOUNTS, "default", name)))
    return name


@pytest.fixture
def rayward(stack: Path) -> Rayward:
    """The command line in a namespace of its own."""
    return Rayward(stack, _namespace(stack))


@pytest.fixture(scope="session")
def web(stack: Path) -> Rayward:
    """The command line in a namespace with a pod that serves a page, and a service; only for tests that read."""
    it = Rayward(stack, _namespace(stack))
    done = it("apply", "-f", "-", stdin=_WEB)
    assert done.code == 0, done.err
    eventually(lambda: "2/2" in it("get", "pod", "web").out)
    # a container runs before its program has said anything
    eventually(lambda: it("logs", "web", "-c", "helper").out == "helping\n")
    return it
