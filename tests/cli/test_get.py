"""``rayward get``: tables, documents, watches, and what is not there."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.cli.rayward import Rayward
from tests.waiting import eventually

_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {team: %s}}\n"


def test_a_table_is_the_servers(web: Rayward) -> None:
    head, row = web("get", "pods").out.splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:3] == ["web", "2/2", "Running"]
    assert "IP" in web("get", "pods", "-o", "wide").out


@pytest.mark.parametrize("words", [["po"], ["pod"], ["pods"], ["Pod"], ["pods.v1"], ["pod/web"], ["po", "web"]])
def test_a_kind_has_many_names(web: Rayward, words: list[str]) -> None:
    assert web("get", *words, "-o", "name").out == "pod/web\n"


def test_several_kinds_are_told_apart(web: Rayward) -> None:
    pods, services = web("get", "po,svc").out.split("\n\n")
    assert pods.splitlines()[1].startswith("pod/web ")
    assert services.splitlines()[1].startswith("service/web ")
    assert web("get", "all", "--no-headers").out.startswith("pod/web ")


def test_services_answer_where_their_table_says(web: Rayward) -> None:
    head, row = web("get", "services").out.splitlines()
    assert head.split()[-1] == "SHELL-ADDRESS"
    address = row.split()[-1]
    assert address.startswith("127.43.")

    def answers() -> bool:
        with urllib.request.urlopen(f"http://{address}/", timeout=5) as answer:
            return answer.status == 200

    eventually(answers)


def test_every_namespace(web: Rayward) -> None:
    lines = web("get", "services", "-A").out.splitlines()
    assert lines[0].startswith("NAMESPACE ")
    assert {line.split()[0] for line in lines[1:]} >= {"default", web.namespace}


def test_selectors(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=f"{_MAP % ('a', 'red')}---\n{_MAP % ('b', 'blue')}")
    assert rayward("get", "cm", "-l", "team=blue", "-o", "name").out == "configmap/b\n"
    assert rayward("get", "cm", "--field-selector", "metadata.name=a", "-o", "name").out == "configmap/a\n"


def test_documents(web: Rayward) -> None:
    one = web("get", "pod", "web", "-o", "json").json()
    assert one["metadata"]["name"] == "web"
    assert "managedFields" not in one["metadata"]
    many = web("get", "pods", "-o", "json").json()
    assert (many["kind"], len(many["items"])) == ("List", 1)
    assert "kind: Pod\n" in web("get", "pod", "web", "-o", "yaml").out
    assert web("get", "pods", "-o", "jsonpath={.items[*].metadata.name}").out == "web\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["pod", "nix"], 4, 'error: pods "nix" not found\n  next: rayward get pods -A\n'),
        (["podz"], 4, "names like it: po, pod, pods"),
        ([], 2, "next: rayward get pods"),
        (["pod/web", "web"], 2, "KIND/NAME"),
        (["pods", "-o", "xml"], 2, "jsonpath=TEMPLATE"),
        (["pods", "-o", "jsonpath={.a"], 2, "does not work"),
        (["pods", "-l", "a=b=c"], 3, "error: "),
        (["pods", "web", "-A"], 2, "exclude each other"),
        (["po,svc", "-w"], 2, "one kind"),
    ],
    ids=["no object", "no kind", "nothing", "mixed", "form", "template", "selector", "name in all", "two watches"],
)
def test_mistakes_say_what_to_do(web: Rayward, words: list[str], code: int, said: str) -> None:
    done = web("get", *words)
    assert done.code == code
    assert said in done.err


def test_an_empty_namespace_is_no_mistake(rayward: Rayward) -> None:
    done = rayward("get", "pods")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"No resources found in {rayward.namespace} namespace.\n"


def test_what_is_there_is_shown_beside_what_is_not(web: Rayward) -> None:
    done = web("get", "pod", "web", "nix")
    assert done.code == 4
    assert "web " in done.out


def test_a_failure_for_programs(web: Rayward) -> None:
    done = web("get", "pod", "nix", "-o", "json")
    told = json.loads(done.err)
    assert (told["kind"], told["code"], told["reason"]) == ("Failure", 4, "NotFound")
    assert told["next"] == "rayward get pods -A"


def test_a_watch_goes_on_with_every_change(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_MAP % ("first", "red"))
    with rayward.process("get", "cm", "-w", "-l", "team=red") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split() == ["NAME", "DATA", "AGE"]
        assert watching.stdout.readline().split()[0] == "first"
        rayward("apply", "-f", "-", stdin=_MAP % ("other", "blue"))
        rayward("apply", "-f", "-", stdin=_MAP % ("second", "red"))
        assert watching.stdout.readline().split()[0] == "second"


def test_the_namespace_may_come_before_the_verb(web: Rayward) -> None:
    from tests.cli.rayward import run

    done = run("-n", web.namespace, "get", "pods", "--data-dir", str(web.folder), "-o", "name")
    assert done.out == "pod/web\n"
