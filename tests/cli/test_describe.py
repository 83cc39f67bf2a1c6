"""``rayward describe``: an object, its conditions and its events on one page."""

from __future__ import annotations

from tests.cli.rayward import Rayward
from tests.waiting import eventually

_PODS = """
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec:
  containers:
  - name: main
    image: python
    command: [python3]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: gone, key: k}}}]
"""


def test_a_pod_that_runs(web: Rayward) -> None:
    page = web("describe", "pod", "web").out
    for line in (
        "Name:             web",
        "Status:           Running",
        "  main:",
        "  helper:",
        "Labels:           app=web",
    ):
        assert f"\n{line}\n" in f"\n{page}", line
    assert "Ports:            8080/TCP (page)" in page
    assert "Readiness:        tcp-socket :8080 delay=0s timeout=1s period=1s #success=1 #failure=3" in page
    assert "kubelet" in page[page.index("Events:") :]


def test_a_pod_that_cannot_run_says_why(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_PODS)
    eventually(lambda: "CreateContainerConfigError" in rayward("describe", "pod", "lost").out)
    page = rayward("describe", "pod/lost").out
    assert 'configmap "gone" not found' in page
    assert "A: <set to the key 'k' of config map 'gone'>" in page


def test_any_other_kind_by_its_fields(web: Rayward) -> None:
    page = web("describe", "service", "web").out
    assert "Kind:             Service (v1)" in page
    assert "Spec:\n  clusterIP: 10.43." in page
    assert "\nEvents:" in page


def test_what_a_secret_holds_stays_secret(rayward: Rayward) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter22}\n"
    rayward("apply", "-f", "-", stdin=text)
    page = rayward("describe", "secret", "s").out
    assert "password:" in page
    assert "aHVudGVyMjI" not in page
    assert "hunter22" not in page


def test_for_programs(web: Rayward) -> None:
    told = web("describe", "pod", "web", "-o", "json").json()
    assert told["kind"] == "Description"
    assert told["items"][0]["object"]["metadata"]["name"] == "web"
    assert told["items"][0]["events"]


def test_what_is_not_there(web: Rayward) -> None:
    assert web("describe", "pod", "nix").code == 4
