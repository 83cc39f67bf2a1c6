"""What a pod is while it is being deleted."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from rayward.kube.core.resource import ENDPOINT_SLICES, SERVICES
from tests.node.machine import Machine, sh
from tests.waiting import eventually


def _has(path: str) -> dict[str, Any]:
    return {"exec": {"command": ["test", "-e", path]}, "periodSeconds": 1, "failureThreshold": 1}


def _endpoint(machine: Machine, service: str) -> dict[str, Any]:
    selector = f"kubernetes.io/service-name={service}"
    (found,) = machine.client.list(ENDPOINT_SLICES, "default", label_selector=selector).items
    (endpoint,) = found["endpoints"]
    return endpoint["conditions"]


def test_a_pod_serves_for_as_long_as_its_readiness_probe_says_so(machine: Machine) -> None:
    app = f"app-{uuid4().hex[:8]}"
    port = {"port": 80, "protocol": "TCP"}
    machine.make(SERVICES, {"metadata": {"name": app}, "spec": {"selector": {"app": app}, "ports": [port]}})
    name = machine.run(
        sh(
            "touch /tmp/serves /tmp/lives; exec sleep 600",
            lifecycle={"preStop": {"exec": {"command": ["sleep", "600"]}}},
            readinessProbe=_has("/tmp/serves"),
            livenessProbe=_has("/tmp/lives"),
        ),
        metadata={"labels": {"app": app}},
        terminationGracePeriodSeconds=600,
    )
    machine.until_ready(name)
    eventually(lambda: _endpoint(machine, app) == {"ready": True, "serving": True, "terminating": False})
    machine.delete(name)
    eventually(lambda: _endpoint(machine, app) == {"ready": False, "serving": True, "terminating": True})
    machine.until_event(name, "Killing")
    # Whether it lives no longer matters, whether it serves does.
    machine.execute(name, "rm", "/tmp/lives")
    machine.execute(name, "rm", "/tmp/serves")
    eventually(lambda: _endpoint(machine, app) == {"ready": False, "serving": False, "terminating": True})
    assert machine.condition(name, "Ready")["status"] == "False"
    assert not [message for _, message in machine.events(name) if "Liveness" in message]
    machine.delete(name, grace_period_seconds=0)
