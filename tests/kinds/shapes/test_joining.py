"""Joining and leaving: the scripts run in a real shell, with a ``ray`` that only takes notes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.joining import run, shell, wait_container, wait_script
from tests.kinds.shapes.sample import cluster, ray, template

__all__ = ["shell"]
_ROLLING = {"rayward.dev/rolling-update": "workers"}


def test_a_worker_waits_in_rays_image_with_rays_variables() -> None:
    own = {"env": [{"name": "RAY_USE_TLS", "value": "1"}], "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}

    made = wait_container({**own, "imagePullPolicy": "Never", "securityContext": {"runAsUser": 1}})

    assert (made["image"], made["imagePullPolicy"], made["securityContext"]) == ("ray:1", "Never", {"runAsUser": 1})
    assert made["env"][0] == own["env"][0]
    assert made["volumeMounts"] == own["volumeMounts"]
    assert made["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}


def test_it_waits_after_what_the_user_prepares() -> None:
    made = cluster(groups=[{"template": template(initContainers=[{"name": "before"}])}])

    names = [container["name"] for container in shapes.worker_pod(made, made.groups[0], "w")["spec"]["initContainers"]]

    assert names == ["before", "wait-gcs-ready"]


def _frame(kind: int, payload: bytes, flags: int = 0, stream: int = 1) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


_HEADERS = _frame(1, b"\x88", 4)
_NOT_SERVING = _frame(4, b"", stream=0) + _HEADERS + _frame(0, b"\0\0\0\0\2\x08\x02")
_SERVING = _frame(4, b"", stream=0) + _HEADERS + _frame(0, b"\0\0\0\0\2\x08\x01")


def _until_closed(serve: Callable[[socket.socket], None], listening: socket.socket) -> None:
    with contextlib.suppress(OSError):
        serve(listening)


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([_SERVING], id="at once"),
        pytest.param([_NOT_SERVING, _SERVING], id="not serving yet"),
        pytest.param([_frame(7, b"", stream=0), _SERVING], id="rejected"),
        pytest.param([b"", _SERVING], id="closed"),
        pytest.param([None, _SERVING], id="never answered"),
    ],
)
def test_it_asks_the_health_of_gcs_until_it_serves(shell: Path, answers: list[bytes | None]) -> None:
    asked: list[bytes] = []
    held: list[socket.socket] = []

    def serve(listening: socket.socket) -> None:
        waiting = list(answers)
        # Until the listener is shut down: on a busy machine the script may ask again before it was answered.
        while True:
            with contextlib.suppress(ConnectionError):
                connection, _ = listening.accept()
                held.append(connection)
                request = connection.recv(4096)
                if not request:
                    # The shell looks whether anything listens before it asks.
                    continue
                asked.append(request)
                answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=_until_closed, args=(serve, listening), daemon=True)
        server.start()
        done = run(wait_script(listening.getsockname()[1]), shell)
        listening.shutdown(socket.SHUT_RDWR)
        server.join(60)
    for connection in held:
        connection.close()

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The head answers after ")
    assert len(asked) >= len(answers)
    assert all(b"/grpc.health.v1.Health/Check" in request for request in asked)


def test_workers_drain_only_where_they_are_replaced_one_by_one() -> None:
    made = cluster()

    assert "lifecycle" not in ray(shapes.worker_pod(made, made.groups[0], "w"))
    assert "lifecycle" not in ray(shapes.head_pod(cluster(annotations=_ROLLING), "h"))


def test_a_way_to_stop_of_the_users_own_stays() -> None:
    own = {"preStop": {"exec": {"command": ["true"]}}}
    made = cluster(groups=[{"template": template({"lifecycle": own})}], annotations=_ROLLING)

    assert ray(shapes.worker_pod(made, made.groups[0], "w"))["lifecycle"] == own


@pytest.mark.parametrize(("grace", "deadline"), [(None, 20), (120, 110), (0, 1)])
def test_a_worker_drains_within_its_grace(shell: Path, grace: int | None, deadline: int) -> None:
    spec = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    started = {"lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}
    made = cluster(groups=[{"template": template(started, **spec)}], annotations=_ROLLING)

    lifecycle = ray(shapes.worker_pod(made, made.groups[0], "w"))["lifecycle"]

    assert lifecycle["postStart"] == started["lifecycle"]["postStart"]
    command: list[str] = lifecycle["preStop"]["exec"]["command"]
    done = run(command[2].replace("raylet", "no-such-process"), shell, RAY_FROM="1")
    assert done.returncode == 0, done.stderr
    assert (shell / "calls").read_text() == (
        "drain-node --reason DRAIN_NODE_REASON_PREEMPTION --reason-message the pod is being replaced"
        f" --deadline-remaining-seconds {deadline}\n"
    )


def test_a_drain_that_is_refused_is_told() -> None:
    made = cluster(annotations=_ROLLING)
    command: list[str] = ray(shapes.worker_pod(made, made.groups[0], "w"))["lifecycle"]["preStop"]["exec"]["command"]

    assert run(command[2].replace("ray drain-node", "false"), Path("/nowhere")).returncode == 1
