"""Logs, commands and ports, at the endpoint that API servers ask."""

from __future__ import annotations

import threading
from typing import Any

import orjson
import pytest

from tests.node.machine import Machine, RefusedError, sh
from tests.waiting import eventually


@pytest.fixture(scope="module")
def talker(machine: Machine) -> str:
    name = machine.run(sh("for i in 1 2 3 4 5; do echo line $i; done; echo trouble >&2; exec sleep 600"))
    eventually(lambda: "trouble" in machine.log(name))
    return name


def test_the_whole_log(machine: Machine, talker: str) -> None:
    assert machine.log(talker).splitlines() == [*(f"line {number}" for number in range(1, 6)), "trouble"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"tailLines": 2}, "line 5\ntrouble\n"),
        ({"tailLines": 0}, ""),
        ({"limitBytes": 9}, "line 1\nli"),
        ({"stream": "Stderr"}, "trouble\n"),
        ({"sinceTime": "2100-01-01T00:00:00Z"}, ""),
        ({"sinceSeconds": 3600, "tailLines": 1}, "trouble\n"),
    ],
    ids=str,
)
def test_parts_of_the_log(machine: Machine, talker: str, query: dict[str, Any], expected: str) -> None:
    assert machine.log(talker, **query) == expected


def test_times_in_the_log(machine: Machine, talker: str) -> None:
    stamp, _, text = machine.log(talker, tailLines=1, timestamps="true").partition(" ")
    assert text == "trouble\n"
    assert stamp.endswith("Z")
    assert len(stamp) == len("2026-01-01T00:00:00.000000000Z")


def test_the_log_of_the_run_before(machine: Machine) -> None:
    name = machine.run(
        sh(
            "touch /w/n; echo run $(wc -l < /w/n); echo >> /w/n; test $(wc -l < /w/n) -ge 2 && exec sleep 600; exit 1",
            volumeMounts=[{"name": "w", "mountPath": "/w"}],
        ),
        restartPolicy="Always",
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    eventually(lambda: machine.container(name)["restartCount"] == 1 and "running" in machine.state(name))
    eventually(lambda: machine.log(name) == "run 1\n")
    assert machine.log(name, previous="true") == "run 0\n"
    machine.delete(name)


def test_there_is_no_run_before_the_first(machine: Machine, talker: str) -> None:
    with pytest.raises(RefusedError) as refused:
        machine.log(talker, previous="true")
    assert refused.value.code == 400
    assert refused.value.text == f'previous terminated container "c" in pod "{talker}" not found\n'


def test_following_a_log_ends_with_the_container(machine: Machine) -> None:
    name = machine.run(sh("for i in 1 2 3; do echo $i; sleep 0.3; done"))
    eventually(lambda: "running" in machine.state(name))
    assert machine.log(name, follow="true") == "1\n2\n3\n"


def test_long_lines_come_whole(machine: Machine) -> None:
    name = machine.run(sh("python3 -c 'print(\"x\" * 100_000)'"))
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "x" * 100_000 + "\n"


def test_a_container_that_waits_has_no_log_yet(machine: Machine) -> None:
    name = machine.run(sh("true", env=[{"name": "V", "valueFrom": {"secretKeyRef": {"name": "no", "key": "v"}}}]))
    machine.until_waiting(name, "CreateContainerConfigError")
    with pytest.raises(RefusedError) as refused:
        machine.log(name)
    assert "is waiting to start: CreateContainerConfigError" in refused.value.text


def test_a_command_in_a_container(machine: Machine, talker: str) -> None:
    code, streams = machine.execute(talker, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (code, streams[1], streams[2]) == (3, b"out\n", b"err\n")


def test_a_command_that_reads(machine: Machine, talker: str) -> None:
    code, streams = machine.execute(talker, "cat", sent=[b"\0hello", b"\xff\0"], input=1)
    assert (code, streams[1]) == (0, b"hello")


def test_a_terminal_has_a_name_that_programs_know(machine: Machine, talker: str) -> None:
    _, streams = machine.execute(talker, "sh", "-c", "echo $TERM", tty=1)
    assert streams[1] == b"xterm\r\n"
    assert machine.execute(talker, "sh", "-c", "echo $TERM")[1][1] == b"\n"
    own = machine.run(sh("echo $TERM", tty=True), sh("echo $TERM", tty=True, env=[{"name": "TERM", "value": "vt100"}]))
    machine.until_phase(own, "Succeeded")
    assert (machine.log(own), machine.log(own, "c1")) == ("xterm\r\n", "vt100\r\n")


def test_a_command_with_a_terminal(machine: Machine, talker: str) -> None:
    resize = b'\4{"Width":91,"Height":31}'
    code, streams = machine.execute(talker, "sh", sent=[resize, b"\0stty size; exit 4\n"], input=1, tty=1)
    assert code == 4
    assert b"31 91" in streams[1]


def test_a_command_that_is_not_there(machine: Machine, talker: str) -> None:
    code, streams = machine.execute(talker, "no-such-program")
    assert code == -1
    assert 'exec: "no-such-program": executable file not found in $PATH' in orjson.loads(streams[3])["message"]


def test_attaching_to_a_container(machine: Machine) -> None:
    name = machine.run(sh("read line; echo got $line; sleep 600", stdin=True))
    machine.until_ready(name)
    path = f"/attach/default/{name}/c?input=1&output=1&error=1"
    gathered = machine.stream(path, [b"\0word\n"], until=lambda found: b"got word" in found.get(1, b""))
    assert gathered[1] == b"got word\n"
    machine.delete(name)


def test_a_port_of_a_pod(machine: Machine) -> None:
    name = machine.run(sh("cd /tmp; echo here > index.html; exec python3 -m http.server 8000 --bind 127.0.0.1"))
    machine.until_ready(name)
    machine.execute(name, "sh", "-c", "until wget -q -O- http://127.0.0.1:8000/; do sleep 0.1; done")
    path = f"/portForward/default/{name}?port=8000"
    gathered = machine.stream(path, [b"\0GET / HTTP/1.0\r\n\r\n"])
    assert gathered[0][:2] == (8000).to_bytes(2, "little")
    assert gathered[0].endswith(b"here\n")
    machine.delete(name)


def test_a_port_that_nobody_serves(machine: Machine, talker: str) -> None:
    gathered = machine.stream(f"/portForward/default/{talker}?port=9")
    assert b"connection refused" in gathered[1]


@pytest.mark.parametrize(("token", "code"), [("", 401), ("wrong", 401)], ids=["nobody", "a stranger"])
def test_strangers_are_refused(machine: Machine, talker: str, token: str, code: int) -> None:
    with pytest.raises(RefusedError) as refused:
        machine.ask(f"/containerLogs/default/{talker}/c", token=token)
    assert refused.value.code == code


def test_health_and_pods(machine: Machine, talker: str) -> None:
    assert machine.ask("/healthz", token="") == b"ok"
    assert talker in [pod["metadata"]["name"] for pod in orjson.loads(machine.ask("/pods"))["items"]]


def test_logs_are_rotated_by_size(machine: Machine) -> None:
    name = machine.run(sh("yes 0123456789012345678901234567890123456789 | head -n 600000; echo end"))
    machine.until_phase(name, "Succeeded")
    uid = machine.pod(name)["metadata"]["uid"]
    files = list((machine.folder / "node" / "pods" / uid / "logs" / "c").iterdir())
    assert len(files) > 2
    assert all(file.stat().st_size <= 10 * 1024 * 1024 for file in files)
    assert machine.log(name, tailLines=1) == "end\n"


def test_many_read_one_log(machine: Machine, talker: str) -> None:
    read: list[str] = []
    threads = [threading.Thread(target=lambda: read.append(machine.log(talker))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(read)) == 1
