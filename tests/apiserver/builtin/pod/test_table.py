"""A pod in one line, in every state that kubectl knows."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.duration import instant
from rayward.local.apiserver.builtin.pod.table import cells, row_conditions

Object = dict[str, Any]


def _moment(text: str) -> float:
    moment = instant(text)
    assert moment is not None
    return moment.timestamp()


_NOW = _moment("2020-01-01T01:00:00Z")
_RUNNING = {"running": {"startedAt": "2020-01-01T00:00:00Z"}}


def _waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def _ended(code: int, **more: Any) -> Object:
    return {"terminated": {"exitCode": code, **more}}


def _container(name: str, state: Object, **more: Any) -> Object:
    return {"name": name, "state": state, **more}


def _is(kind: str, status: str = "True", **more: Any) -> Object:
    return {"type": kind, "status": status, **more}


def _pod(status: Object, *, init: list[Object] | None = None, containers: int = 1, **meta: Any) -> Object:
    names = [{"name": chr(ord("a") + index)} for index in range(containers)]
    return {
        "metadata": {"name": "p", "creationTimestamp": "2020-01-01T00:00:00Z", **meta},
        "spec": {"containers": names, **({"initContainers": init} if init else {})},
        "status": status,
    }


_DELETED: Object = {"deletionTimestamp": "2020-01-01T00:59:00Z"}
_LAST_END = {"terminated": {"finishedAt": "2020-01-01T00:30:00Z"}}
_SIDECAR = [{"name": "s", "restartPolicy": "Always"}]


@pytest.mark.parametrize(
    ("pod", "shown"),
    [
        pytest.param(_pod({"phase": "Pending"}), ("0/1", "Pending", "0"), id="pending"),
        pytest.param(_pod({"phase": "Failed", "reason": "Evicted"}), ("0/1", "Evicted", "0"), id="a reason"),
        pytest.param(
            _pod({"phase": "Pending", "conditions": [_is("PodScheduled", "False", reason="SchedulingGated")]}),
            ("0/1", "SchedulingGated", "0"),
            id="gated",
        ),
        pytest.param(
            _pod({"phase": "Running", "containerStatuses": [_container("a", _RUNNING, ready=True)]}),
            ("1/1", "Running", "0"),
            id="running",
        ),
        pytest.param(
            _pod({"phase": "Running", "containerStatuses": [_container("a", _RUNNING)]}),
            ("0/1", "Running", "0"),
            id="running, not ready",
        ),
        pytest.param(
            _pod({"phase": "Pending", "containerStatuses": [_container("a", _waiting("ImagePullBackOff"))]}),
            ("0/1", "ImagePullBackOff", "0"),
            id="waiting",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Running",
                    "containerStatuses": [
                        _container("a", _waiting("CrashLoopBackOff"), restartCount=3, lastState=_LAST_END)
                    ],
                }
            ),
            ("0/1", "CrashLoopBackOff", "3 (30m ago)"),
            id="restarted, with the time of the last end",
        ),
        pytest.param(
            _pod({"phase": "Running", "containerStatuses": [_container("a", _RUNNING, ready=True, restartCount=2)]}),
            ("1/1", "Running", "2"),
            id="restarted, nobody knows when",
        ),
        pytest.param(
            _pod({"phase": "Succeeded", "containerStatuses": [_container("a", _ended(0, reason="Completed"))]}),
            ("0/1", "Completed", "0"),
            id="completed",
        ),
        pytest.param(
            _pod({"phase": "Failed", "containerStatuses": [_container("a", _ended(1, reason="Error"))]}),
            ("0/1", "Error", "0"),
            id="failed",
        ),
        pytest.param(
            _pod({"phase": "Failed", "containerStatuses": [_container("a", _ended(3))]}),
            ("0/1", "ExitCode:3", "0"),
            id="an exit code",
        ),
        pytest.param(
            _pod({"phase": "Failed", "containerStatuses": [_container("a", _ended(137, signal=9))]}),
            ("0/1", "Signal:9", "0"),
            id="a signal",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Running",
                    "conditions": [_is("Ready")],
                    "containerStatuses": [
                        _container("a", _ended(0, reason="Completed")),
                        _container("b", _RUNNING, ready=True),
                    ],
                },
                containers=2,
            ),
            ("1/2", "Running", "0"),
            id="one completed, one running, ready",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Running",
                    "containerStatuses": [
                        _container("a", _ended(0, reason="Completed")),
                        _container("b", _RUNNING, ready=True),
                    ],
                },
                containers=2,
            ),
            ("1/2", "NotReady", "0"),
            id="one completed, one running, not ready",
        ),
        pytest.param(
            _pod({"phase": "Pending", "initContainerStatuses": [_container("i", _RUNNING)]}, init=[{"name": "i"}]),
            ("0/1", "Init:0/1", "0"),
            id="initializing",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        _container("i", _ended(0)),
                        _container("j", _waiting("PodInitializing")),
                    ],
                },
                init=[{"name": "i"}, {"name": "j"}],
            ),
            ("0/1", "Init:1/2", "0"),
            id="the first is done",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        _container("i", _waiting("CrashLoopBackOff"), restartCount=4, lastState=_LAST_END)
                    ],
                },
                init=[{"name": "i"}],
            ),
            ("0/1", "Init:CrashLoopBackOff", "4 (30m ago)"),
            id="an init container crashes",
        ),
        pytest.param(
            _pod(
                {"phase": "Failed", "initContainerStatuses": [_container("i", _ended(2, reason="Error"))]},
                init=[{"name": "i"}],
            ),
            ("0/1", "Init:Error", "0"),
            id="an init container failed",
        ),
        pytest.param(
            _pod(
                {"phase": "Failed", "initContainerStatuses": [_container("i", _ended(137, signal=9))]},
                init=[{"name": "i"}],
            ),
            ("0/1", "Init:Signal:9", "0"),
            id="an init container was killed",
        ),
        pytest.param(
            _pod(
                {
                    "phase": "Running",
                    "initContainerStatuses": [_container("s", _RUNNING, started=True, ready=True, restartCount=1)],
                    "containerStatuses": [_container("a", _RUNNING, ready=True, restartCount=2)],
                },
                init=_SIDECAR,
            ),
            ("2/2", "Running", "3"),
            id="a sidecar counts",
        ),
        pytest.param(
            _pod({"phase": "Running"}, **_DELETED),
            ("0/1", "Terminating", "0"),
            id="terminating",
        ),
        pytest.param(
            _pod({"phase": "Running", "reason": "NodeLost"}, **_DELETED), ("0/1", "Unknown", "0"), id="its node is lost"
        ),
        pytest.param(
            _pod({"phase": "Succeeded"}, **_DELETED), ("0/1", "Succeeded", "0"), id="deleted after it succeeded"
        ),
    ],
)
def test_ready_status_and_restarts(pod: Object, shown: tuple[str, str, str]) -> None:
    name, ready, status, restarts, age, *_ = cells(pod, _NOW)
    assert (name, age) == ("p", "60m")
    assert (ready, status, restarts) == shown


def test_places_and_gates() -> None:
    pod = _pod(
        {
            "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}],
            "nominatedNodeName": "m",
            "conditions": [_is("x"), _is("y", "False")],
        }
    )
    pod["spec"] |= {"nodeName": "n", "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}]}
    assert cells(pod, _NOW)[5:] == ["10.0.0.7", "n", "m", "1/2"]
    assert cells(_pod({}), _NOW)[5:] == ["<none>"] * 4


@pytest.mark.parametrize(
    ("phase", "message"),
    [("Succeeded", "The pod has completed successfully."), ("Failed", "The pod failed."), ("Running", None)],
)
def test_a_row_says_that_a_pod_has_ended(phase: str, message: str | None) -> None:
    said = [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []
    assert row_conditions(_pod({"phase": phase})) == said
