"""The same traffic for a user without any rights."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import rayward
from tests.node.behaviour.test_unprivileged import _NOBODY, _interpreter
from tests.node.machine import sh
from tests.traffic.apps import SAY, TCP, heard
from tests.traffic.machine import TrafficMachine, environment, require_pods
from tests.waiting import eventually


def test_low_ports_names_and_shell_addresses_need_no_rights() -> None:
    require_pods()
    if os.geteuid() != 0:
        pytest.skip("already a user without rights: all other tests are this test")
    interpreter = _interpreter()
    if interpreter is None:
        pytest.skip("no Python of this version that another user can run")
    packages = [str(Path(rayward.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
    with TrafficMachine(python=interpreter, user=_NOBODY, packages=packages) as plain:
        label = {"app": "low"}
        server = sh(f"exec python3 -c '{TCP}'", env=environment(WORD="hello"))
        plain.until_ready(plain.run(server, metadata={"labels": label}))
        name = plain.service([{"port": 80, "targetPort": 7000}], selector=label)["metadata"]["name"]
        host, port = plain.shell(name)
        assert port == 10080
        eventually(lambda: heard(host, port) == "hello")
        assert plain.output(sh(f'exec python3 -c "{SAY.format(name, 80)}"')) == "hello\n"
