"""What a container is started with, and how it ends, as seen through the API."""

from __future__ import annotations

import re

import pytest

from rayward.kube.core.resource import CONFIG_MAPS
from tests.node.machine import Machine, sh
from tests.waiting import eventually


def test_a_program_that_ends_well_makes_its_pod_succeed(machine: Machine) -> None:
    name = machine.run(sh("echo hello"))
    status = machine.until_phase(name, "Succeeded")
    ended = machine.state(name)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert status["containerStatuses"][0]["restartCount"] == 0
    assert machine.log(name) == "hello\n"
    assert machine.condition(name, "Ready")["reason"] == "PodCompleted"


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 3", 3), ("kill -9 $$$$", 137), ("kill -TERM $$$$", 143), ("kill -SEGV $$$$", 139)],
    ids=["exit", "SIGKILL", "SIGTERM", "SIGSEGV"],
)
def test_a_program_that_fails_tells_its_code(machine: Machine, script: str, code: int) -> None:
    name = machine.run(sh(script))
    machine.until_phase(name, "Failed")
    ended = machine.state(name)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, "Error")
    assert machine.condition(name, "ContainersReady")["reason"] == "PodFailed"


def test_a_command_that_is_not_there_is_a_start_error(machine: Machine) -> None:
    name = machine.run({"name": "c", "image": "busybox", "command": ["no-such-program"]})
    machine.until_phase(name, "Failed")
    ended = machine.state(name)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert 'exec: "no-such-program": executable file not found in $PATH' in ended["message"]
    assert machine.until_event(name, "Failed", "executable file not found")


def test_a_working_directory_and_arguments(machine: Machine) -> None:
    said = machine.output(
        {"name": "c", "image": "busybox", "command": ["sh"], "args": ["-c", "pwd"], "workingDir": "/tmp/a/b"}
    )
    assert said == "/tmp/a/b\n"


def test_variables_expand_in_commands_and_each_other(machine: Machine) -> None:
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["echo", "$(B)", "$$(B)", "$(MISSING)"],
        "env": [{"name": "A", "value": "one"}, {"name": "B", "value": "$(A)-two"}],
    }
    assert machine.output(container) == "one-two $(B) $(MISSING)\n"


def test_a_pod_knows_itself(machine: Machine) -> None:
    fields = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "ADDRESS": "status.podIP",
        "HOST": "status.hostIP",
        "LABEL": "metadata.labels['color']",
    }
    env = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    said = machine.output(
        sh(
            'echo $NAME $NAMESPACE $ACCOUNT $LABEL $HOST; test "$NODE" && hostname -I | grep -q $ADDRESS && echo me',
            env=env,
        ),
        name="knows-itself",
        metadata={"labels": {"color": "red"}},
    )
    assert said == "knows-itself default default red 127.0.0.1\nme\n"


def test_a_pod_knows_its_resources(machine: Machine) -> None:
    def of(resource: str, divisor: str = "0") -> dict[str, object]:
        return {"resourceFieldRef": {"resource": resource, "divisor": divisor}}

    env = [
        {"name": "CPU", "valueFrom": of("limits.cpu", "1m")},
        {"name": "CORES", "valueFrom": of("limits.cpu")},
        {"name": "MEMORY", "valueFrom": of("requests.memory", "1Mi")},
        {"name": "ALL", "valueFrom": of("limits.memory", "1Gi")},
    ]
    resources = {"requests": {"memory": "64Mi"}, "limits": {"cpu": "1500m"}}
    assert machine.output(sh("echo $CPU $CORES $MEMORY $ALL", env=env, resources=resources)) == "1500 2 64 16\n"


def test_variables_of_config_maps_and_secrets(machine: Machine) -> None:
    plain, hidden = machine.config_map(A="1", B="2"), machine.secret(token="s3cret")
    container = sh(
        "echo $A $P_A $P_B $T $NONE.",
        env=[
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": plain, "key": "A"}}},
            {"name": "T", "valueFrom": {"secretKeyRef": {"name": hidden, "key": "token"}}},
            {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "none", "key": "x", "optional": True}}},
        ],
        envFrom=[{"configMapRef": {"name": plain}, "prefix": "P_"}],
    )
    assert machine.output(container) == "1 1 2 s3cret .\n"


def test_a_missing_config_map_is_a_config_error_until_it_is_there(machine: Machine) -> None:
    name = machine.run(
        sh("echo $V", env=[{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "v"}}}])
    )
    assert machine.until_waiting(name, "CreateContainerConfigError") == 'configmap "later" not found'
    assert machine.until_event(name, "Failed") == 'Error: configmap "later" not found'
    assert machine.status(name)["phase"] == "Pending"
    machine.make(CONFIG_MAPS, {"metadata": {"name": "later"}, "data": {"v": "now"}})
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "now\n"


def test_a_missing_key_is_named(machine: Machine) -> None:
    plain = machine.config_map(a="1")
    name = machine.run(sh("true", env=[{"name": "V", "valueFrom": {"configMapKeyRef": {"name": plain, "key": "b"}}}]))
    assert (
        machine.until_waiting(name, "CreateContainerConfigError") == f"couldn't find key b in ConfigMap default/{plain}"
    )


def test_an_image_name_that_is_none(machine: Machine) -> None:
    name = machine.run({**sh("true"), "image": "Not An Image"})
    assert "invalid reference format" in machine.until_waiting(name, "InvalidImageName")


def test_a_termination_message(machine: Machine) -> None:
    name = machine.run(sh("echo -n last words > /dev/termination-log; exit 1"))
    machine.until_phase(name, "Failed")
    assert machine.state(name)["terminated"]["message"] == "last words"


def test_the_end_of_the_log_as_termination_message(machine: Machine) -> None:
    name = machine.run(sh("echo this went wrong; exit 1", terminationMessagePolicy="FallbackToLogsOnError"))
    machine.until_phase(name, "Failed")
    assert machine.state(name)["terminated"]["message"] == "this went wrong\n"


def test_a_user_of_its_own(machine: Machine) -> None:
    said = machine.output(
        sh("id -u; id -g; touch /tmp/x && echo writes", securityContext={"runAsUser": 1000, "runAsGroup": 100})
    )
    assert said == "1000\n100\nwrites\n"


def test_a_pod_that_must_not_be_root_is_the_user_of_rays_images(machine: Machine) -> None:
    script = "id -u; id -g; touch /tmp/x ~/x && echo writes"
    assert machine.output(sh(script, securityContext={"runAsNonRoot": True})) == "1000\n1000\nwrites\n"
    of_pod = {"runAsNonRoot": True, "runAsGroup": 100}
    assert machine.output(sh(script), securityContext=of_pod) == "1000\n100\nwrites\n"


def test_root_is_refused_where_the_pod_says_so(machine: Machine) -> None:
    name = machine.run(sh("true", securityContext={"runAsNonRoot": True, "runAsUser": 0}))
    uid = machine.pod(name)["metadata"]["uid"]
    assert machine.until_waiting(name, "CreateContainerConfigError") == (
        f'container\'s runAsUser breaks non-root policy (pod: "{name}_default({uid})", container: c)'
    )


def test_graphics_cards_are_counted_and_given(machine: Machine) -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    one = machine.run(sh("echo $CUDA_VISIBLE_DEVICES; sleep 600", **limits))
    two = machine.run(sh("echo $CUDA_VISIBLE_DEVICES; sleep 600", **limits))
    for name in (one, two):
        machine.until_ready(name)
    three = machine.run(sh("true", **limits))
    assert "1 Insufficient nvidia.com/gpu" in machine.until_event(three, "FailedScheduling")
    eventually(lambda: {machine.log(one), machine.log(two)} == {"0\n", "1\n"})
    machine.delete(one)
    machine.until_phase(three, "Succeeded")
    machine.delete(two)


def test_a_python_environment_stands_for_the_image(machine: Machine) -> None:
    said = machine.output(
        sh("python -c 'import sys, msgspec; print(sys.prefix)'; command -v wget > /dev/null && echo wget")
    )
    assert re.fullmatch(r"/.+\nwget\n", said)


def test_a_container_that_takes_too_much_memory_is_killed_or_the_pod_says_why_not(machine: Machine) -> None:
    # Writing the memory makes it real; the swap of the machine, if any, is not counted.
    script = "import time; held = bytearray(b'x') * (400 * 1024 * 1024); print(len(held)); time.sleep(600)"
    name = machine.run(
        {
            "name": "c",
            "image": "busybox",
            "command": ["python3", "-c", script],
            "resources": {"limits": {"memory": "64Mi"}},
        }
    )
    eventually(lambda: machine.log(name) != "" or machine.status(name)["phase"] == "Failed")
    if machine.status(name)["phase"] == "Failed":
        ended = machine.state(name)["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    else:
        assert "not enforced by the kernel" in machine.until_event(name, "LimitsNotEnforced")
        machine.delete(name)


def test_what_a_node_does_not_do_is_said(machine: Machine) -> None:
    name = machine.run(sh("true"), shareProcessNamespace=True)
    machine.until_phase(name, "Succeeded")
    message = machine.until_event(name, "NotSupported")
    assert (
        message == "shareProcessNamespace is not supported by this node: containers do not see each other's processes"
    )


def test_an_image_that_nobody_mapped_runs_and_says_so(machine: Machine) -> None:
    name = machine.run({**sh("true"), "image": "example.com/anything:1"})
    machine.until_phase(name, "Succeeded")
    assert "--images strict" in machine.until_event(name, "ImageNotMapped", 'image "example.com/anything:1"')
