"""The node dies anywhere; its pods do not notice, and nothing is lost, doubled or left over."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.core.resource import PODS
from tests.node.machine import Machine, sandbox_processes, sh
from tests.waiting import eventually

_KILLS = 50


@pytest.fixture
def victim(machine: Machine) -> Iterator[Machine]:
    del machine  # Only to skip where pods cannot run.
    with Machine("--cpus", "64", "--memory", "64Gi") as running:
        yield running


def test_pods_outlive_their_node(victim: Machine) -> None:
    lives = victim.run(sh("echo $$$$; exec sleep 600"))
    ends_meanwhile = victim.run(sh("until test -e /tmp/go; do sleep 0.05; done; echo done; exit 5"))
    for name in (lives, ends_meanwhile):
        victim.until_ready(name)
    victim.execute(ends_meanwhile, "sh", "-c", "(sleep 1; touch /tmp/go) > /dev/null 2>&1 &")
    before = victim.container(lives)
    victim.kill_node()
    uid = victim.pod(ends_meanwhile)["metadata"]["uid"]
    record = victim.folder / "node" / "pods" / uid / "containers" / "c" / "0.exit"
    eventually(record.exists)
    victim.start_node()
    victim.until_phase(ends_meanwhile, "Failed")
    assert victim.state(ends_meanwhile)["terminated"]["exitCode"] == 5
    assert victim.log(ends_meanwhile) == "done\n"
    assert victim.container(lives) == before
    assert victim.condition(lives, "Ready")["status"] == "True"
    victim.delete(lives)
    victim.until_gone(lives)


def test_the_end_of_all_namespaces_is_told_and_pods_that_restart_come_back(victim: Machine) -> None:
    again = victim.run(sh("exec sleep 600"), restartPolicy="Always")
    never = victim.run(sh("exec sleep 600"))
    for name in (again, never):
        victim.until_ready(name)
    victim.kill_node()
    victim.end_sandbox_host()
    eventually(lambda: not victim.processes())
    victim.start_node()
    victim.until_phase(never, "Failed")
    assert victim.state(never)["terminated"]["reason"] == "ContainerStatusUnknown"
    eventually(lambda: victim.container(again)["restartCount"] == 1 and "running" in victim.state(again))
    assert victim.until_event(again, "SandboxChanged") == "Pod sandbox changed, it will be killed and re-created."


def test_a_pod_deleted_while_the_node_is_away(victim: Machine) -> None:
    marked, forced = (victim.run(sh("exec sleep 600")) for _ in range(2))
    for name in (marked, forced):
        victim.until_ready(name)
    victim.kill_node()
    victim.delete(marked)
    victim.delete(forced, grace_period_seconds=0)
    victim.start_node()
    victim.until_gone(marked)
    eventually(lambda: len(victim.processes()) == 1)
    eventually(lambda: not list((victim.folder / "node" / "pods").iterdir()))


def test_stopping_leaves_nothing(victim: Machine) -> None:
    names = [victim.run(sh("setsid sleep 600 & exec sleep 600")) for _ in range(3)]
    for name in names:
        victim.until_ready(name)
    assert victim.processes()
    victim.stop_node()
    eventually(lambda: not sandbox_processes(victim.folder))
    assert str(victim.folder) not in Path("/proc/self/mountinfo").read_text()
    victim.start_node()


def test_a_node_can_be_replaced_without_its_pods_noticing(victim: Machine) -> None:
    name = victim.run(sh("exec sleep 600"))
    victim.until_ready(name)
    before = victim.container(name)
    victim.stop_node(signal.SIGUSR1)
    victim.start_node()
    assert victim.container(name) == before


@pytest.mark.timeout(1800)  # Every kill waits for a new node: minutes on a machine that is busy with other things.
def test_the_node_killed_at_random_loses_and_doubles_nothing(victim: Machine, request: pytest.FixtureRequest) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    steady = [
        victim.run(sh("echo start; exec sleep 6000"), restartPolicy="Always", name=f"steady-{n}") for n in range(4)
    ]
    for name in steady:
        victim.until_ready(name)
    before = {name: victim.container(name)["containerID"] for name in steady}
    short: list[str] = []
    for kill in range(_KILLS):
        # Work at all stages of life, so that the kill comes between any two lines.
        short.append(
            victim.run(
                sh(
                    f"echo {kill} >> /w/n; sleep {chance.random() / 2:.2f}; wc -l < /w/n",
                    volumeMounts=[{"name": "w", "mountPath": "/w"}],
                ),
                volumes=[{"name": "w", "emptyDir": {}}],
                name=f"short-{kill}",
            )
        )
        if kill % 3 == 2:
            victim.delete(short[kill - 2])
        time.sleep(chance.random() * 0.3)
        victim.kill_node()
        victim.start_node()
    left = [name for number, name in enumerate(short) if not (number % 3 == 0 and number + 2 < _KILLS)]
    for name in left:
        victim.until_phase(name, "Succeeded")
        # One run wrote one line: a pod that was started twice would have counted to two.
        assert (victim.log(name), victim.container(name)["restartCount"]) == ("1\n", 0), name
    assert {name: victim.container(name)["containerID"] for name in steady} == before
    assert all(victim.log(name) == "start\n" for name in steady)
    for name in (*left, *steady):
        victim.delete(name, grace_period_seconds=0)
    eventually(lambda: not victim.client.list(PODS, "default").items)
    eventually(lambda: len(victim.processes()) == 1)


def test_the_end_of_all_namespaces_under_a_running_node(victim: Machine) -> None:
    again = victim.run(sh("exec sleep 600"), restartPolicy="Always")
    victim.until_ready(again)
    victim.end_sandbox_host()
    eventually(lambda: victim.container(again)["restartCount"] == 1 and "running" in victim.state(again))
    status = victim.until_ready(again)
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert "reason" not in victim.condition(again, "Ready")
    assert status["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    probe = "import http.client; http.client.HTTPConnection('10.42.0.1', 3128).connect(); print('proxy')"
    assert victim.output({"name": "c", "image": "busybox", "command": ["python3", "-c", probe]}) == "proxy\n"


def test_a_start_that_was_written_but_never_asked_for_is_made_good(victim: Machine) -> None:
    name = victim.run(sh("echo once; exec sleep 600"))
    victim.until_ready(name)
    uid = victim.pod(name)["metadata"]["uid"]
    runs = victim.folder / "node" / "pods" / uid / "containers" / "c"
    victim.kill_node()
    # What a node leaves that dies between these two steps.
    (runs / "1.json").write_bytes((runs / "0.json").read_bytes().replace(b'"attempt":0', b'"attempt":1'))
    victim.start_node()
    assert victim.container(name)["restartCount"] == 0
    assert "running" in victim.state(name)
