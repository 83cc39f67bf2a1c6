"""``lint``, ``diff``, ``plan``, ``set``, ``scale`` and ``patch``, as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rayward.kube.machinery import yamltext
from tests.cli.rayward import Rayward, run
from tests.kinds.clusters import changed, manifest, service_manifest


@pytest.fixture
def ray(rayward: Rayward) -> Rayward:
    """A namespace with a RayCluster that stays without pods."""
    installed = rayward("apply", "-f", "-", "--force-conflicts", stdin=run("crds").out)
    assert installed.code == 0, installed.err
    body = changed(manifest(), "spec.suspend", True)
    done = rayward("apply", "-f", "-", stdin=yamltext.dump(body))
    assert done.code == 0, done.err
    return rayward


def test_lint_needs_no_server(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("# ours\n" + yamltext.dump(changed(manifest(), "spec.headGroupSpec.rayResources", {"CPU": "1"})))
    first = run("lint", str(file))
    assert (first.code, first.out.count("RW402")) == (0, 1)
    assert "See docs/reference/lint.md#rw402" in first.err
    assert run("lint", str(file), "--strict").code == 1
    fixed = run("lint", "-f", str(tmp_path), "--fix")
    assert (fixed.code, fixed.out, fixed.err) == (0, "", f"{file}: corrected 1\n")
    assert file.read_text().startswith("# ours\n")
    file.write_text("kind: RayCluster\napiVersion: ray.io/v1\nspec: 7\n")
    assert run("lint", str(file)).code == 3
    assert json.loads(run("lint", str(file), "-o", "sarif").out)["version"] == "2.1.0"
    assert run("lint").code == 2
    assert run("lint", str(tmp_path / "nothing.yaml")).code == 2


def test_plan_and_diff_change_nothing(ray: Rayward) -> None:
    body = changed(changed(manifest(), "spec.suspend", True), "spec.workerGroupSpecs.0.maxReplicas", 9)
    text = yamltext.dump(body)
    before = ray("get", "raycluster/c", "-o", "json").json()["metadata"]["generation"]
    planned = ray("plan", "-f", "-", "--exit-code", stdin=text)
    assert planned.code == 1, planned.err
    assert "spec.workerGroupSpecs[small].maxReplicas" in planned.out
    found = ray("plan", "-f", "-", "-o", "json", stdin=text).json()
    assert (found["kind"], found["action"], found["rules"]) == ("Plan", "update", "rayward")
    shown = ray("diff", "-f", "-", stdin=text)
    assert (shown.code, "-    maxReplicas: 4\n+    maxReplicas: 9\n" in shown.out) == (1, True)
    same = yamltext.dump(changed(manifest(), "spec.suspend", True))
    assert ray("diff", "-f", "-", stdin=same).code == 0
    assert ray("plan", "-f", "-", "--exit-code", stdin=same).code == 0
    assert ray("get", "raycluster/c", "-o", "json").json()["metadata"]["generation"] == before


def test_a_plan_is_applied_later_unless_the_object_moved(ray: Rayward, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    body = changed(changed(manifest(), "spec.suspend", True), "spec.workerGroupSpecs.0.maxReplicas", 9)
    assert ray("plan", "-f", "-", "--out", str(file), stdin=yamltext.dump(body)).code == 0
    done = ray("apply", "--plan", str(file))
    assert (done.code, done.out) == (0, "raycluster.ray.io/c configured\n"), done.err
    again = ray("apply", "--plan", str(file))
    assert again.code == 5
    assert "has changed since the plan was made" in again.err
    assert ray("apply", "--plan", str(tmp_path / "no.json")).code == 2


def test_a_plan_is_only_asked_about_in_a_dry_run_and_keeps_its_cause(ray: Rayward, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    body = changed(changed(manifest(), "spec.suspend", True), "spec.rayVersion", "2.61.0")
    assert ray("plan", "-f", "-", "--out", str(file), stdin=yamltext.dump(body)).code == 0
    dry = ray("apply", "--plan", str(file), "--dry-run=server", "--wait")
    assert (dry.code, dry.out) == (0, "raycluster.ray.io/c configured (server dry run)\n"), dry.err
    version = ("get", "raycluster/c", "-o", "jsonpath={.spec.rayVersion}")
    assert ray(*version).out == "2.60.0\n"
    assert ray("apply", "--plan", str(file), "--cause", "newer Ray").code == 0
    assert ray(*version).out == "2.61.0\n"
    assert ray("history", "raycluster/c", "-o", "json").json()["items"][-1]["cause"] == "newer Ray"


@pytest.mark.parametrize("words", [("-f", "c.yaml"), ("--strategy", "recreate"), ("--force-conflicts",)], ids=str)
def test_what_a_plan_says_itself_is_not_said_again(ray: Rayward, tmp_path: Path, words: tuple[str, ...]) -> None:
    done = ray("apply", "--plan", str(tmp_path / "plan.json"), *words)
    assert (done.code, words[0] in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.headGroupSpec.serviceType", "Foo"),
        ("spec.headGroupSpec.rayResources", {"CPU": "two"}),
    ],
)
def test_what_the_operator_would_reject_is_invalid_at_its_line(
    ray: Rayward, tmp_path: Path, path: str, value: object
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(yamltext.dump(changed(manifest(), path, value)))
    field = path.rpartition(".")[2]
    (line,) = (at for at, text in enumerate(file.read_text().splitlines(), 1) if text.strip().startswith(f"{field}:"))
    done = ray("apply", "-f", str(file))
    assert (done.code, done.out) == (3, "")
    assert f"{file}:{line}:5: " in done.err


def test_sizes_and_settings(ray: Rayward) -> None:
    done = ray("scale", "raycluster/c", "--group", "small", "--replicas", "3")
    assert (done.code, done.out) == (0, "raycluster.ray.io/c configured\n"), done.err
    assert ray("set", "cluster", "c", "small.replicas=3").out == "raycluster.ray.io/c unchanged\n"
    shown = ray("set", "cluster/c", "small.image=x:1", "small.env.A=b", "-o", "json").json()
    container = shown["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
    assert (container["image"], container["env"]) == ("x:1", [{"name": "A", "value": "b"}])
    assert shown["spec"]["workerGroupSpecs"][0]["replicas"] == 3
    assert ray("set", "cluster/c", "small.env.A-").code == 0
    assert ray("scale", "raycluster/c", "--group", "large", "--replicas", "3").code == 4
    assert ray("scale", "raycluster/c", "--group", "small", "--replicas", "9").code == 3
    assert ray("scale", "raycluster/c", "--group", "small").code == 2
    assert ray("set", "cluster/nobody", "suspend=true").code == 4
    assert ray("set", "cluster/c").code == 2
    assert ray("set", "pod/c", "suspend=true").code == 4


def test_a_merge_patch_that_would_drop_a_group_is_refused_and_its_advice_works(ray: Rayward) -> None:
    patch = '{"spec":{"workerGroupSpecs":[{"groupName":"small","replicas":3}]}}'
    refused = ray("patch", "raycluster/c", "-p", patch)
    assert refused.code == 3
    assert "spec.workerGroupSpecs[small].template" in refused.err
    advice = refused.err.partition("--type=json -p '")[2].rpartition("'")[0]
    done = ray("patch", "raycluster/c", "--type=json", "-p", advice)
    assert done.code == 0, done.err
    assert ray("get", "raycluster/c", "-o", "jsonpath={.spec.workerGroupSpecs[0].replicas}").out == "3\n"
    as_json = ray("patch", "raycluster/c", "-p", patch, "-o", "json")
    failure = json.loads(as_json.err.splitlines()[-1])
    assert (failure["code"], failure["reason"], failure["object"]) == (3, "Invalid", "raycluster/c")
    assert ray("patch", "raycluster/c", "-p", "[]").code == 3
    assert ray("patch", "raycluster/c", "-p", '{"spec": {"suspend": true}}').code == 0


def test_replace_keeps_the_version_of_the_manifest(ray: Rayward) -> None:
    text = ray("get", "raycluster/c", "-o", "yaml").out
    wanted = re.sub("maxReplicas: [0-9]+", "maxReplicas: 7", text)
    assert wanted != text
    done = ray("replace", "-f", "-", stdin=wanted)
    assert (done.code, done.out) == (0, "raycluster.ray.io/c configured\n"), done.err
    late = ray("replace", "-f", "-", stdin=wanted)
    assert late.code == 5
    assert "has changed since the manifest was read" in late.err
    again = changed(manifest(), "spec.workerGroupSpecs.0.maxReplicas", 8)
    assert ray("replace", "-f", "-", stdin=yamltext.dump(again)).code == 0
    assert ray("replace", "-f", "-", stdin=yamltext.dump(manifest("nobody"))).code == 4
    assert ray("replace", "-f", "-", stdin="kind: [").code == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("set", "cluster/c", "spec.nothing=1"), 3, 'unknown field "spec.nothing"'),
        (("set", "cluster/c", "spec.workerGroupSpecs=[]"), 3, "would lose 1 item"),
        (("set", "cluster/c", "small.requests.cpu=much"), 3, "resources.requests.cpu"),
        (("patch", "cluster/c", "-p", '{"spec": null}'), 3, "spec.workerGroupSpecs[small]"),
        (("patch", "cluster/c", "--type=json", "-p", '[{"op": "remove", "path": "/spec/x"}]'), 3, "operation 1"),
        (("upgrade", "cluster/c", "image=x:1"), 3, "only a RayService can"),
        (("scale", "cluster/c", "--group", "large", "--replicas", "1"), 4, "groups: small"),
        (("why", "c"), 2, "KIND/NAME"),
        (("history", "pod/c"), 4, "only Ray's kinds"),
        (("undo", "cluster/c", "--to-revision", "77"), 4, "revisions: "),
    ],
)
def test_a_refusal_has_three_lines_and_changes_nothing(
    ray: Rayward, words: tuple[str, ...], code: int, said: str
) -> None:
    before = ray("get", "raycluster/c", "-o", "jsonpath={.metadata.resourceVersion}").out
    done = ray(*words)
    assert (done.code, said in done.err) == (code, True), done.err
    lines = [line for line in done.err.splitlines() if not line.startswith("→")]
    assert [line.split(":")[0].strip() for line in (lines[0], lines[1], lines[-1])] == ["error", "why", "next"], lines
    assert len(lines) == len(set(lines)), "nothing is told twice"
    assert max(map(len, lines)) < 600
    assert ray("get", "raycluster/c", "-o", "jsonpath={.metadata.resourceVersion}").out == before


def test_two_documents_of_which_one_is_wrong_are_planned_not_at_all(ray: Rayward) -> None:
    wrong = changed(service_manifest(), "spec.rayClusterConfig.workerGroupSpecs.0.minReplicas", 9)
    text = yamltext.dump(manifest("other")) + "---\n" + yamltext.dump(wrong)
    done = ray("plan", "-f", "-", stdin=text)
    assert (done.code, done.out) == (3, "")


def test_documents_of_other_kinds_are_left_out_of_a_plan_and_named(ray: Rayward) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}
    text = yamltext.dump(other) + "---\n" + yamltext.dump(changed(manifest(), "spec.suspend", True))
    for verb in ("plan", "diff"):
        done = ray(verb, "-f", "-", stdin=text)
        assert (done.code, done.err) == (
            0, f"configmap/code: left out: rayward {verb} is for RayCluster, RayService and RayJob\n"
        )  # fmt: skip
    assert ray("plan", "-f", "-", stdin=yamltext.dump(other)).code == 4


def test_a_diff_against_a_file_asks_no_server(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    old, new = tmp_path / "old.yaml", tmp_path / "new" / "c.yaml"
    old.write_text(yamltext.dump(manifest()))
    new.write_text(yamltext.dump(changed(manifest(), "spec.rayVersion", "2.61.0")))
    words = ("diff", "-f", str(new), "--against", str(old), "--kubeconfig", str(tmp_path / "nothing"))
    shown = run(*words)
    assert (shown.code, "-  rayVersion: 2.60.0\n+  rayVersion: 2.61.0\n" in shown.out) == (1, True), shown.err
    assert [one["object"] for one in json.loads(run(*words, "-o", "json").out)["items"]] == ["raycluster/c"]
    assert run("diff", "-f", str(old), "--against", str(old)).out == ""
    assert run("diff", "-f", str(new), "--against", str(new.parent)).code == 0
    assert run("diff", "-f", str(new), "--against", str(tmp_path / "nobody.yaml")).code == 2
    assert run("diff", "-f", str(new), "--against", str(old), "--revision", "1").code == 2
    assert run("diff", "--against", str(old)).code == 2


def test_a_diff_of_a_manifest_against_a_revision(ray: Rayward) -> None:
    """A revision is what was asked for then, and not what is live."""
    assert ray("set", "cluster/c", "rayVersion=2.61.0").code == 0
    text = yamltext.dump(changed(changed(manifest(), "spec.suspend", True), "spec.rayVersion", "2.62.0"))
    first = ray("history", "cluster/c", "-o", "json").json()["items"][0]["revision"]
    shown = ray("diff", "-f", "-", "--revision", str(first), stdin=text)
    assert (shown.code, "-  rayVersion: 2.60.0\n+  rayVersion: 2.62.0\n" in shown.out) == (1, True), shown.err
    assert ray("diff", "-f", "-", "--revision", "99", stdin=text).code == 4
    assert ray("diff", "-f", "-", "--revision", "1:2", stdin=text).code == 2


def test_history_and_undo(ray: Rayward) -> None:
    assert ray("set", "cluster/c", "rayVersion=2.61.0", "--cause", "newer Ray").code == 0
    shown = ray("history", "raycluster/c")
    assert shown.out.splitlines()[-1].endswith("newer Ray"), shown
    listed = ray("history", "cluster", "c", "-o", "json").json()["items"]
    assert [one["cause"] for one in listed][-1] == "newer Ray"
    differs = ray("diff", "raycluster/c", "--revision", f"{listed[-2]['revision']}:{listed[-1]['revision']}")
    assert (differs.code, "+  rayVersion: 2.61.0" in differs.out) == (1, True)
    done = ray("undo", "raycluster/c")
    assert (done.code, done.out) == (0, "raycluster.ray.io/c configured\n"), done.err
    assert f"back to revision {listed[-2]['revision']}" in done.err
    assert ray("undo", "raycluster/c", "--to-revision", "99").code == 4
    assert ray("diff", "raycluster/c", "--revision", "x").code == 2


def test_waiting_for_nobody_times_out_and_changes_nothing(ray: Rayward) -> None:
    done = ray("wait", "raycluster/c", "--timeout", "200ms")
    assert done.code == 124
    assert "NotObserved" in done.err
    text = yamltext.dump(changed(changed(manifest(), "spec.suspend", True), "spec.rayVersion", "2.61.0"))
    applied = ray("apply", "-f", "-", "--wait", "--timeout", "200ms", stdin=text)
    assert (applied.code, applied.out) == (124, "raycluster.ray.io/c configured\n")
    assert ray("get", "raycluster/c", "-o", "jsonpath={.spec.rayVersion}").out == "2.61.0\n"
