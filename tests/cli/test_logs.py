"""``rayward logs``: of one pod, of several, from before and from now on."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.cli.logs import Source, never, waiting
from tests.cli.rayward import Rayward
from tests.waiting import eventually

_TALKER = """
apiVersion: v1
kind: Pod
metadata: {name: talker, labels: {app: talk}}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: python, command: [python3, -c, "for i in range(20): print('line', i)"]}
"""
_SLOW = """
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  restartPolicy: Never
  initContainers:
  - {name: first, image: python, command: [python3, -c, "import time; time.sleep(1)"]}
  containers:
  - {name: main, image: python, command: [python3, -c, "print('at last')"]}
"""
_LARGE = """
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  nodeName: %s
  containers:
  - {name: main, image: python, command: [python3], resources: {requests: {cpu: "100000"}}}
"""
_BROKEN = """
apiVersion: v1
kind: Pod
metadata: {name: broken, labels: {app: broken}}
spec:
  restartPolicy: Never
  initContainers:
  - {name: first, image: python, command: [python3, -c, "import sys; sys.exit(7)"]}
  containers:
  - {name: main, image: python, command: [python3, -c, "print('never')"]}
  - {name: side, image: python, command: [python3, -c, "print('never')"]}
"""


def test_a_pod_speaks(web: Rayward) -> None:
    done = web("logs", "web")
    assert done.out.startswith("I am up\n")
    assert done.err == 'Defaulted container "main" out of: main, helper\n'
    assert web("logs", "web", "-c", "helper").out == "helping\n"
    assert web("logs", "svc/web", "-c", "helper").out == "helping\n"


def test_all_containers_with_who_said_it(web: Rayward) -> None:
    lines = web("logs", "-l", "app=web", "--all-containers", "--prefix").out.splitlines()
    assert "[pod/web/main] I am up" in lines
    assert "[pod/web/helper] helping" in lines


def test_the_end_of_a_log(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_TALKER)
    eventually(lambda: rayward("logs", "talker").out.endswith("line 19\n"))
    assert rayward("logs", "talker", "--tail", "2").out == "line 18\nline 19\n"
    assert rayward("logs", "-l", "app=talk").out.splitlines()[0] == "line 10", "ten lines of those chosen by label"
    assert rayward("logs", "talker", "--since", "1h").out.count("\n") == 20
    assert rayward("logs", "talker", "--tail", "1", "--timestamps").out.endswith("Z line 19\n")


def test_who_follows_waits_for_the_first_word(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_SLOW)
    eventually(lambda: "Init" in rayward("get", "pod", "slow").out)
    done = rayward("logs", "-f", "slow")
    assert (done.code, done.out) == (0, "at last\n")
    assert "is waiting to start" in done.err


def test_who_follows_a_pod_that_was_turned_away_is_told_why(rayward: Rayward) -> None:
    node = rayward("get", "nodes", "-o", "name").out.split("/")[1].strip()
    assert rayward("apply", "-f", "-", stdin=_LARGE % node).code == 0
    done = rayward("logs", "-f", "large")
    assert (done.code, done.out) == (3, "")
    assert 'error: container "main" in pod "large" never ran: the pod is Failed: OutOfcpu\n' in done.err
    assert f"next: rayward describe pod large -n {rayward.namespace}\n" in done.err


def test_who_follows_a_pod_that_failed_before_is_told_why(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_BROKEN)
    done = rayward("logs", "-f", "broken", "-c", "main")
    assert done.code == 3
    assert 'why: init container "first" ended with exit code 7\n' in done.err
    assert f"next: rayward logs broken -c first -n {rayward.namespace}\n" in done.err
    together = rayward("logs", "-f", "-l", "app=broken", "--all-containers")
    assert together.code == 0
    assert 'container "side" in pod "broken" never ran' in together.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nix"], 4, "rayward get pods -A"),
        ([], 2, "rayward logs POD"),
        (["web", "-c", "nix"], 4, "it has: main, helper"),
        (["web", "--previous"], 3, "rayward describe pod web"),
        (["web", "--since", "soon"], 2, "write 90s, 5m or 1h30m"),
        (["cm/kube-root-ca.crt"], 2, "has no pods"),
    ],
    ids=["no pod", "nothing", "no container", "no previous", "no duration", "no pods"],
)
def test_mistakes_say_what_to_do(web: Rayward, words: list[str], code: int, said: str) -> None:
    done = web("logs", *words)
    assert (done.code, said in done.err) == (code, True), done.err


def _pod(**told: object) -> dict[str, Any]:
    return {"status": {"phase": "Pending", "containerStatuses": [{"name": "main", **told}]}}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        ({"status": {"phase": "Pending"}}, "Pending"),
        (_pod(state={"waiting": {"reason": "PodInitializing"}}), "PodInitializing"),
        (_pod(), "ContainerCreating"),
        (_pod(state={"running": {}}), ""),
        (_pod(state={"terminated": {}}), ""),
        (_pod(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState={"terminated": {}}), ""),
    ],
    ids=["not on a node", "behind init containers", "no state", "runs", "is over", "ran before"],
)
def test_why_a_container_has_said_nothing(pod: dict[str, Any], why: str) -> None:
    assert waiting(pod, "main") == why


def _over(phase: str = "Failed", first: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    inits = [] if first is None else [{"name": "first", "state": {"terminated": first}}]
    return {"status": {"phase": phase, "initContainerStatuses": inits, **status}}


@pytest.mark.parametrize(
    ("pod", "what", "why", "following"),
    [
        (
            _over(reason="OutOfcpu", message="Node didn't have enough resource"),
            "the pod is Failed: OutOfcpu",
            "Node didn't have enough resource",
            "describe pod p",
        ),
        (
            _over(first={"exitCode": 2}),
            "the pod is Failed",
            'init container "first" ended with exit code 2',
            "-c first",
        ),
        (_over(first={"exitCode": 0}), "the pod is Failed", "", "describe pod p"),
        (
            _over(first={"exitCode": 143})
            | {"spec": {"initContainers": [{"name": "first", "restartPolicy": "Always"}]}},
            "the pod is Failed",
            "",
            "describe pod p",
        ),
        (_over("Succeeded"), "the pod is Succeeded", "", "describe pod p"),
    ],
    ids=["turned away", "an init container failed", "for no reason given", "a sidecar was ended", "without it"],
)
def test_why_a_container_will_say_nothing(pod: dict[str, Any], what: str, why: str, following: str) -> None:
    told = never(pod, Source("x", "p", "main"))
    assert told is not None
    assert (told.what.rpartition("never ran: ")[2], told.why) == (what, why)
    assert following in told.following


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_a_pod_that_is_not_over_may_still_speak(phase: str) -> None:
    assert never(_over(phase), Source("x", "p", "main")) is None
