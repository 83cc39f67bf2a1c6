"""``rayward delete``: what is gone, what is said, what keeps it."""

from __future__ import annotations

import json

import pytest

from tests.cli.rayward import Rayward

_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {team: x}, finalizers: [%s]}\n"


def _maps(rayward: Rayward) -> set[str]:
    return set(rayward("get", "cm", "-l", "team", "-o", "name").out.split())


def test_by_name_by_label_and_all(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin="---\n".join(_MAP % (name, "") for name in "abcd"))
    done = rayward("delete", "cm", "a")
    assert done.out == f'configmap "a" deleted from {rayward.namespace} namespace\n'
    assert done.err == f"→ local ({rayward.folder})\n"
    assert _maps(rayward) == {"configmap/b", "configmap/c", "configmap/d"}
    rayward("delete", "cm/b")
    rayward("delete", "cm", "-l", "team=x,team!=y")
    assert _maps(rayward) == set()
    rayward("apply", "-f", "-", stdin=_MAP % ("e", ""))
    assert rayward("delete", "cm", "--all").out.count("deleted") == 2, "the namespace's own certificate too"


def test_what_a_file_names(rayward: Rayward) -> None:
    text = f"{_MAP % ('a', '')}---\n{_MAP % ('b', '')}"
    rayward("apply", "-f", "-", stdin=text)
    done = rayward("delete", "-f", "-", stdin=text)
    assert [line.split()[1] for line in done.out.splitlines()] == ['"b"', '"a"'], "the last first"
    again = rayward("delete", "-f", "-", stdin=text)
    assert again.code == 4
    assert rayward("delete", "-f", "-", "--ignore-not-found", stdin=text).code == 0


def test_programs_get_one_document(rayward: Rayward) -> None:
    text = f"{_MAP % ('a', '')}---\n{_MAP % ('b', '')}"
    rayward("apply", "-f", "-", stdin=text)
    uid = rayward("get", "cm", "b", "-o", "json").json()["metadata"]["uid"]
    rayward("delete", "cm", "a")
    done = rayward("delete", "-f", "-", "-o", "json", stdin=text)
    about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": rayward.namespace}
    assert done.json() == {
        "apiVersion": "cli.rayward/v1",
        "kind": "Delete",
        "deleted": [{**about, "name": "b", "uid": uid}],
        "notFound": [{**about, "name": "a"}],
    }
    assert done.code == 4
    assert json.loads(done.err.splitlines()[-1])["reason"] == "NotFound"


def test_programs_learn_what_is_still_there(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_MAP % ("kept", "example.com/lock"))
    done = rayward("delete", "cm", "kept", "--timeout", "200ms", "-o", "json")
    assert done.code == 124
    assert [one["name"] for one in done.json()["deleted"]] == ["kept"]
    assert json.loads(done.err.splitlines()[-1])["why"] == "finalizers keep it: example.com/lock"


def test_a_pod_is_waited_for(rayward: Rayward) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {terminationGracePeriodSeconds: 1, containers: [{name: m, image: python, command: [sleep, '900']}]}\n"
    )
    rayward("apply", "-f", "-", stdin=pod)
    assert rayward("delete", "pod", "p").code == 0
    assert rayward("get", "pods", "-o", "name").out == ""
    rayward("apply", "-f", "-", stdin=pod)
    assert 'pod "p" force deleted' in rayward("delete", "pod", "p", "--force").out


def test_what_does_not_go_says_what_keeps_it(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_MAP % ("kept", "example.com/lock"))
    done = rayward("delete", "cm", "kept", "--timeout", "200ms")
    assert done.code == 124
    assert "why: finalizers keep it: example.com/lock" in done.err
    assert f"next: rayward describe configmap kept -n {rayward.namespace}" in done.err
    assert rayward("delete", "cm", "kept", "--no-wait").code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["cm"], 2, "rayward delete cm NAME"),
        ([], 2, "say what to delete"),
        (["cm", "a", "--all"], 2, "exclude"),
        (["cm", "nix"], 4, 'configmaps "nix" not found'),
        (["nixes", "a"], 4, "doesn't have a resource type"),
    ],
    ids=["which", "what", "both", "no object", "no kind"],
)
def test_mistakes_say_what_to_do(rayward: Rayward, words: list[str], code: int, said: str) -> None:
    done = rayward("delete", *words)
    assert (done.code, said in done.err) == (code, True), done.err
