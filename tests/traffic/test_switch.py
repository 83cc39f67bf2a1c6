"""A service that changes its pods under load loses nothing."""

from __future__ import annotations

import threading

import uvloop

from tests.traffic.load import SERVER, Tally, run_load
from tests.traffic.machine import TrafficMachine, environment, python
from tests.waiting import eventually

_ENOUGH = 50_000
_LEAST_SWITCHES = 6
_CONNECTIONS = 50
_RATE = 100.0


def _pod(machine: TrafficMachine, app: str, letter: str) -> str:
    probe = {"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    container = python(SERVER, env=environment(LETTER=letter), readinessProbe=probe)
    return machine.run(container, metadata={"labels": {"app": app, "set": letter}})


def test_a_service_switched_under_load_fails_no_request(machine: TrafficMachine) -> None:
    pods = {letter: [_pod(machine, "switched", letter) for _ in range(2)] for letter in "ab"}
    for name in (*pods["a"], *pods["b"]):
        machine.until_ready(name)
    service = machine.service([{"port": 8000, "name": "serve"}], selector={"app": "switched", "set": "a"})
    name = service["metadata"]["name"]
    eventually(lambda: machine.annotation(name, "rayward.dev/serving") == ",".join(sorted(pods["a"])))
    host, port = machine.shell(name)
    tally = Tally()
    load = threading.Thread(target=lambda: uvloop.run(run_load(host, port, tally, _CONNECTIONS, _RATE)))
    load.start()
    switches = 0
    try:
        eventually(lambda: tally.quick["a"] > 0)
        while tally.total < _ENOUGH or switches < _LEAST_SWITCHES:
            switches += 1
            letter = "ba"[(switches - 1) % 2]
            machine.change(name, {"spec": {"selector": {"set": letter}}})
            wanted = tally.quick[letter] + _ENOUGH // 12
            eventually(lambda letter=letter, wanted=wanted: bool(tally.failures) or tally.quick[letter] >= wanted, 240)
            assert not tally.failures, tally.failures[:5]
    finally:
        tally.stopping = True
        load.join(60)
    print(
        f"\n{tally.total} requests, {tally.slow} of them slow streams, over {_CONNECTIONS} connections in a closed loop"
        f" and {_RATE:.0f} a second in an open one; {switches} switches: {len(tally.failures)} failed"
    )
    assert not load.is_alive()
    assert not tally.failures, tally.failures[:5]
    assert tally.total >= _ENOUGH
    assert tally.slow > 100
    last = "ba"[(switches - 1) % 2]
    eventually(lambda: machine.annotation(name, "rayward.dev/serving") == ",".join(sorted(pods[last])))
    eventually(lambda: machine.annotation(name, "rayward.dev/draining") is None)


def test_pods_that_are_replaced_under_load_fail_no_request(machine: TrafficMachine) -> None:
    first = _pod(machine, "replaced", "a")
    machine.until_ready(first)
    service = machine.service([{"port": 8000, "name": "serve"}], selector={"app": "replaced"})
    name = service["metadata"]["name"]
    eventually(lambda: machine.annotation(name, "rayward.dev/serving") == first)
    host, port = machine.shell(name)
    tally = Tally()
    load = threading.Thread(target=lambda: uvloop.run(run_load(host, port, tally, 10, 20.0)))
    load.start()
    try:
        running = first
        for letter in "bcd":
            after = _pod(machine, "replaced", letter)
            machine.until_ready(after)
            eventually(lambda letter=letter: bool(tally.failures) or tally.quick[letter] > 100)
            machine.change(name, {"spec": {"selector": {"app": "replaced", "set": letter}}})

            def drained(gone: str = running, stays: str = after) -> bool:
                serving = machine.annotation(name, "rayward.dev/serving")
                return serving == stays and gone not in (machine.annotation(name, "rayward.dev/draining") or "")

            eventually(drained)
            # What an operator does: nothing serves and nothing is in flight there any more.
            machine.delete(running)
            machine.until_gone(running)
            machine.change(name, {"spec": {"selector": {"set": None}}})
            running = after
    finally:
        tally.stopping = True
        load.join(60)
    print(f"\n{tally.total} requests while three pods were replaced: {len(tally.failures)} failed")
    assert not tally.failures, tally.failures[:5]


def test_pods_that_are_deleted_under_load_fail_no_request(machine: TrafficMachine) -> None:
    running = [_pod(machine, "deleted", "a") for _ in range(2)]
    for name in running:
        machine.until_ready(name)
    service = machine.service([{"port": 8000, "name": "serve"}], selector={"app": "deleted"})
    name = service["metadata"]["name"]
    eventually(lambda: machine.annotation(name, "rayward.dev/serving") == ",".join(sorted(running)))
    host, port = machine.shell(name)
    tally = Tally()
    load = threading.Thread(target=lambda: uvloop.run(run_load(host, port, tally, 20, 50.0)))
    load.start()
    try:
        for _ in range(6):
            running.append(_pod(machine, "deleted", "a"))
            machine.until_ready(running[-1])
            # At once, as a rolling update does: the pod may still be asked while it ends.
            machine.delete(gone := running.pop(0), grace_period_seconds=30)
            machine.until_gone(gone)
            assert not tally.failures, tally.failures[:5]
    finally:
        tally.stopping = True
        load.join(60)
    print(f"\n{tally.total} requests while six pods were deleted: {len(tally.failures)} failed")
    assert not tally.failures, tally.failures[:5]
