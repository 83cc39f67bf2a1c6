"""What several behaviours are seen at."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.node.behaviour.keyring import SEARCH
from tests.node.machine import Machine


@pytest.fixture(scope="module")
def pages(machine: Machine) -> str:
    """A pod that serves HTTP on 8000; on 9000 whatever it is told comes back in capitals, once it was told all."""
    server = Path(__file__).with_name("server.py").read_text()
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    ports = [{"containerPort": 8000}, {"containerPort": 9000}]
    command = ["python", "-c", server]
    name = f"pages-{uuid4().hex[:8]}"
    machine.run(
        {"name": "c", "image": "busybox", "command": command, "ports": ports, "readinessProbe": probe},
        name=name,
        metadata={"labels": {"app": name}},
    )
    machine.until_ready(name)
    return name


@pytest.fixture(scope="session")
def ticket() -> bool:
    """A key in the keyring of this session, which all that is started from now on has; False: there is none here."""
    number = {"x86_64": 248, "aarch64": 217}[platform.machine()]
    secret = (b"user", b"rayward-test", b"secret", ctypes.c_size_t(6))
    ctypes.CDLL(None).syscall(ctypes.c_long(number), *secret, ctypes.c_long(-3))
    said = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True)
    return said.stdout == "found\n"
