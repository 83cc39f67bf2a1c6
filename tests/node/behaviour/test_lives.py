"""Restarts, init containers, sidecars, hooks, probes and ends."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_SIDECAR = {"restartPolicy": "Always"}


def test_a_container_is_restarted_at_once_and_then_later_and_later(machine: Machine) -> None:
    name = machine.run(sh("exit 7"), restartPolicy="Always")
    message = machine.until_waiting(name, "CrashLoopBackOff")
    uid = machine.pod(name)["metadata"]["uid"]
    assert message == f"back-off 10s restarting failed container=c pod={name}_default({uid})"
    found = machine.container(name)
    assert found["restartCount"] == 1
    assert found["lastState"]["terminated"]["exitCode"] == 7
    assert machine.status(name)["phase"] == "Running"
    assert (
        machine.until_event(name, "BackOff") == f"Back-off restarting failed container c in pod {name}_default({uid})"
    )
    machine.delete(name)
    machine.until_gone(name)


def test_on_failure_restarts_only_failures(machine: Machine) -> None:
    name = machine.run(
        sh("test -e /w/x || { touch /w/x; exit 1; }", volumeMounts=[{"name": "w", "mountPath": "/w"}]),
        restartPolicy="OnFailure",
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    machine.until_phase(name, "Succeeded")
    assert machine.container(name)["restartCount"] == 1


def test_init_containers_run_one_after_the_other_before_the_others(machine: Machine) -> None:
    mount = {"volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    name = machine.run(
        sh("cat /w/x", **mount),
        initContainers=[
            {**sh("echo 1 >> /w/x; sleep 0.5", **mount), "name": "a"},
            {**sh("echo 2 >> /w/x", **mount), "name": "b"},
        ],
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    eventually(
        lambda: (
            machine.state(name, "c").get("waiting", {}).get("reason") == "PodInitializing"
            or "terminated" in machine.state(name, "c")
        )
    )
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "1\n2\n"
    assert machine.container(name, "a")["ready"] is True
    assert machine.condition(name, "Initialized")["status"] == "True"


def test_a_failed_init_container_fails_a_pod_that_never_restarts(machine: Machine) -> None:
    name = machine.run(sh("true"), initContainers=[{**sh("exit 4"), "name": "i"}])
    machine.until_phase(name, "Failed")
    assert machine.state(name, "i")["terminated"]["exitCode"] == 4
    assert machine.state(name)["waiting"]["reason"] == "PodInitializing"
    assert machine.condition(name, "Initialized")["message"] == "containers with incomplete status: [i]"


def test_a_sidecar_starts_first_and_ends_last(machine: Machine) -> None:
    mount = {"volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    name = machine.run(
        sh("until test -e /w/up; do sleep 0.05; done; echo served", **mount),
        initContainers=[
            {
                **sh("touch /w/up; trap 'exit 0' TERM; while true; do sleep 0.1; done", **mount),
                "name": "side",
                **_SIDECAR,
            }
        ],
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "served\n"
    assert machine.state(name, "side")["terminated"]["exitCode"] == 0


def test_a_sidecar_that_ends_is_started_again(machine: Machine) -> None:
    name = machine.run(sh("sleep 600"), initContainers=[{**sh("sleep 0.3"), "name": "side", **_SIDECAR}])
    eventually(lambda: machine.container(name, "side")["restartCount"] >= 1)
    assert "running" in machine.state(name)
    machine.delete(name)


def test_the_others_wait_for_a_sidecars_startup_probe(machine: Machine) -> None:
    probe = {"exec": {"command": ["test", "-e", "/w/ready"]}, "periodSeconds": 1, "failureThreshold": 60}
    mount = {"volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    name = machine.run(
        sh("test -e /w/ready && echo after", **mount),
        initContainers=[
            {**sh("sleep 1; touch /w/ready; sleep 600", **mount), "name": "side", "startupProbe": probe, **_SIDECAR}
        ],
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    machine.until_phase(name, "Succeeded", "Failed")
    assert machine.log(name) == "after\n"


@pytest.mark.parametrize(
    "probe",
    [
        {"httpGet": {"path": "/", "port": 8080}},
        {"httpGet": {"path": "/", "port": "web"}},
        {"tcpSocket": {"port": 8080}},
        {"exec": {"command": ["sh", "-c", "wget -q -O- http://localhost:8080/ | grep -qi directory"]}},
    ],
    ids=["http", "named port", "tcp", "exec with wget"],
)
def test_a_pod_is_ready_when_its_probe_says_so(machine: Machine, probe: dict[str, object]) -> None:
    server = {
        **sh("sleep 0.3; exec python3 -m http.server 8080"),
        "ports": [{"name": "web", "containerPort": 8080}],
        "readinessProbe": {**probe, "periodSeconds": 1, "timeoutSeconds": 5},
    }
    name = machine.run(server)
    eventually(lambda: "running" in machine.state(name))
    machine.until_ready(name)
    machine.delete(name)


def test_a_pod_whose_probe_fails_is_not_ready_and_says_why(machine: Machine) -> None:
    name = machine.run(sh("sleep 600", readinessProbe={"tcpSocket": {"port": 9}, "periodSeconds": 1}))
    message = machine.until_event(name, "Unhealthy")
    address = machine.status(name)["podIP"]
    assert message == f"Readiness probe failed: dial tcp {address}:9: connect: connection refused"
    assert machine.condition(name, "Ready")["message"] == "containers with unready status: [c]"
    machine.delete(name)


def test_a_failed_liveness_probe_restarts_the_container(machine: Machine) -> None:
    probe = {"exec": {"command": ["sh", "-c", "echo sick; exit 1"]}, "periodSeconds": 1, "failureThreshold": 1}
    name = machine.run(sh("exec sleep 600", livenessProbe=probe), restartPolicy="Always")
    eventually(lambda: machine.container(name)["restartCount"] >= 1)
    assert machine.until_event(name, "Killing") == "Container c failed liveness probe, will be restarted"
    assert machine.until_event(name, "Unhealthy").startswith("Liveness probe failed: sick")
    machine.delete(name)


def test_liveness_waits_for_the_startup_probe(machine: Machine) -> None:
    name = machine.run(
        sh(
            "sleep 1.5; touch /tmp/up; exec sleep 600",
            startupProbe={"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1, "failureThreshold": 60},
            livenessProbe={"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1, "failureThreshold": 1},
        )
    )
    machine.until_ready(name)
    assert machine.container(name)["restartCount"] == 0
    machine.delete(name)


def test_hooks_after_the_start_and_before_the_end(machine: Machine, project: Path) -> None:
    hooks = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo hello > /tmp/greeted"]}},
        "preStop": {"exec": {"command": ["sh", "-c", f"echo bye > {project}/goodbye"]}},
    }
    name = machine.run(sh("exec sleep 600", lifecycle=hooks), terminationGracePeriodSeconds=10)
    machine.until_ready(name)
    assert machine.execute(name, "cat", "/tmp/greeted")[1][1] == b"hello\n"
    machine.delete(name)
    machine.until_gone(name)
    assert (project / "goodbye").read_text() == "bye\n"


def test_a_failed_post_start_hook_kills_the_container(machine: Machine) -> None:
    hook = {"postStart": {"exec": {"command": ["false"]}}}
    name = machine.run(sh("exec sleep 600", lifecycle=hook))
    machine.until_phase(name, "Failed")
    assert machine.until_event(name, "FailedPostStartHook") == "PostStartHook failed"


def test_a_deleted_pod_gets_its_grace_and_then_the_axe(machine: Machine) -> None:
    name = machine.run(sh("trap '' TERM; while true; do sleep 0.1; done"), terminationGracePeriodSeconds=2)
    machine.until_ready(name)
    machine.delete(name)
    assert machine.pod(name)["metadata"]["deletionGracePeriodSeconds"] == 2
    machine.until_gone(name)
    assert machine.until_event(name, "Killing") == "Stopping container c"


def test_a_program_that_listens_ends_at_once(machine: Machine) -> None:
    name = machine.run(sh("exec sleep 600"), terminationGracePeriodSeconds=600)
    machine.until_ready(name)
    machine.delete(name)
    machine.until_gone(name)


def test_a_pod_deleted_by_force_leaves_nothing(machine: Machine) -> None:
    name = machine.run(sh("trap '' TERM; while true; do sleep 0.1; done"))
    uid = machine.pod(name)["metadata"]["uid"]
    machine.until_ready(name)
    machine.delete(name, grace_period_seconds=0)
    eventually(lambda: not (machine.folder / "node" / "pods" / uid).exists())


def test_a_pod_that_is_active_for_too_long_fails(machine: Machine) -> None:
    name = machine.run(sh("exec sleep 600"), activeDeadlineSeconds=1)
    status = machine.until_phase(name, "Failed")
    assert status["reason"] == "DeadlineExceeded"
    assert status["message"] == "Pod was active on the node longer than the specified deadline"


def test_a_readiness_gate_is_somebody_elses_word(machine: Machine) -> None:
    name = machine.run(sh("exec sleep 600"), readinessGates=[{"conditionType": "example.com/checked"}])
    eventually(lambda: machine.condition(name, "ContainersReady")["status"] == "True")
    assert machine.condition(name, "Ready")["reason"] == "ReadinessGatesNotReady"
    conditions = machine.status(name)["conditions"]
    body = {"status": {"conditions": [*conditions, {"type": "example.com/checked", "status": "True"}]}}
    machine.client.patch(PODS, name, body, PatchType.MERGE, "default", subresource="status")
    machine.until_ready(name)
    machine.delete(name)


def test_all_ends_with_the_main_process(machine: Machine) -> None:
    # The daemon outlives its parent in its own session: only the end of the pid namespace reaches it.
    name = machine.run(
        sh(
            "setsid sh -c 'while true; do date +%s.%N > /w/t; mv /w/t /w/beat; sleep 0.05; done' & sleep 0.5",
            volumeMounts=[{"name": "w", "mountPath": "/w"}],
        ),
        sh("exec sleep 600", volumeMounts=[{"name": "w", "mountPath": "/w"}]),
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    eventually(lambda: "terminated" in machine.state(name))
    first = machine.execute(name, "sh", "-c", "cat /w/beat; sleep 0.5; cat /w/beat", container="c1")[1][1].split()
    assert first[0] == first[1]
    machine.delete(name)


def test_conditions_keep_their_times(machine: Machine) -> None:
    name = machine.run(sh("sleep 1.2"))
    machine.until_ready(name)
    scheduled = machine.condition(name, "PodScheduled")["lastTransitionTime"]
    machine.until_phase(name, "Succeeded")
    assert machine.condition(name, "PodScheduled")["lastTransitionTime"] == scheduled
    ended = machine.state(name)["terminated"]
    assert datetime.fromisoformat(ended["finishedAt"]) >= datetime.fromisoformat(ended["startedAt"])


def test_a_probe_that_hangs_is_ended(machine: Machine) -> None:
    probe = {"exec": {"command": ["sh", "-c", "sleep 4321 | cat"]}, "periodSeconds": 1, "timeoutSeconds": 1}
    name = machine.run(sh("exec sleep 600", readinessProbe=probe))
    message = machine.until_event(name, "Unhealthy")
    assert "timed out after 1s" in message
    look = "ps ax | grep -c 'sleep 432[1]' || true"
    # At most the one that is being asked right now: those before are gone.
    eventually(
        lambda: machine.until_event(name, "Unhealthy") != "" and int(machine.execute(name, "sh", "-c", look)[1][1]) <= 1
    )
    machine.delete(name)
