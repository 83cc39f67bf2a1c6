"""What is told of a pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.local.node.pod.facts import Container, Pod, Run
from rayward.local.node.pod.status import pod_status, status_patch

Object = dict[str, Any]

RUNNING = Container(run=Run(0, started=1.0), ready=True)
STOPPING = msgspec.structs.replace(RUNNING, stopping=True)


def _pod(*, deleting: bool = False, **spec: Any) -> Object:
    metadata: Object = {"name": "p", "namespace": "ns", "uid": "u"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    containers = [{"name": "c", "image": "i", "readinessProbe": {"exec": {"command": ["true"]}}}]
    return {"metadata": metadata, "spec": {"restartPolicy": "Always", "containers": containers, **spec}}


def _known(container: Container) -> Pod:
    return Pod(containers={"c": container}, address="10.42.0.2", host="127.0.0.1", begun=1.0)


def test_a_pod_that_the_node_refused_has_no_containers_to_tell_of() -> None:
    refused = Pod(containers={}, host="127.0.0.1", ended=("OutOfcpu", "too much"))
    status = pod_status(_pod(initContainers=[{"name": "i", "image": "i"}]), refused, 100.0, str)
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert "containerStatuses" not in status
    assert "initContainerStatuses" not in status


@pytest.mark.parametrize(
    ("deleting", "container", "ready"),
    [
        pytest.param(False, RUNNING, True, id="its probe says yes"),
        pytest.param(True, STOPPING, True, id="deleted, and its probe still says yes"),
        pytest.param(True, msgspec.structs.replace(STOPPING, ready=False), False, id="deleted, its probe says no"),
        pytest.param(False, STOPPING, False, id="stopped for a restart"),
    ],
)
def test_a_container_is_ready(deleting: bool, container: Container, ready: bool) -> None:
    status = pod_status(_pod(deleting=deleting), _known(container), 100.0, str)
    assert status["containerStatuses"][0]["ready"] is ready
    told = {found["type"]: found["status"] for found in status["conditions"]}
    assert told["Ready"] == ("True" if ready else "False")


def test_what_is_written_leaves_the_conditions_of_others_alone() -> None:
    pod = _pod()
    pod["status"] = {"conditions": [{"type": "example.com/checked", "status": "False"}]}
    status = pod_status(pod, _known(RUNNING), 100.0, str)
    assert "example.com/checked" in [found["type"] for found in status["conditions"]]
    patch = status_patch(status)
    assert "example.com/checked" not in [found["type"] for found in patch["conditions"]]
    ready = next(found for found in patch["conditions"] if found["type"] == "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == ("True", None, None), "no reason of before stays"
    assert patch["podIPs"] == [{"ip": "10.42.0.2"}, {"$patch": "replace"}], "nor an address"
