"""``rayward apply``: made, changed, left alone, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.cli.apply import outcome
from tests.cli.rayward import Rayward, run

_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: %s}\n"
_DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %(plural)s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %(plural)s, singular: %(singular)s, kind: %(kind)s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""


def test_each_object_is_told_as_kubectl_tells_it(rayward: Rayward) -> None:
    both = f"{_MAP % 'v'}---\n# nothing here\n---\n{_MAP.replace('name: a', 'name: b') % 'v'}"
    first = rayward("apply", "-f", "-", stdin=both)
    assert (first.code, first.out) == (0, "configmap/a created\nconfigmap/b created\n")
    assert first.err == f"→ local ({rayward.folder})\n"
    assert rayward("apply", "-f", "-", stdin=both).out == "configmap/a unchanged\nconfigmap/b unchanged\n"
    changed = both.replace("k: v", "k: w", 1)
    assert rayward("apply", "-f", "-", stdin=changed).out == "configmap/a configured\nconfigmap/b unchanged\n"


def test_a_dry_run_changes_nothing(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_MAP % "v")
    dry = rayward("apply", "-f", "-", "--dry-run=server", stdin=_MAP % "w")
    assert dry.out == "configmap/a configured (server dry run)\n"
    assert rayward("get", "cm/a", "-o", "jsonpath={.data.k}").out == "v\n"


def test_a_folder_a_list_and_kinds_before_their_objects(rayward: Rayward, tmp_path: Path) -> None:
    names = {"plural": f"{rayward.namespace}s", "singular": rayward.namespace, "kind": rayward.namespace.title()}
    thing = f"apiVersion: example.com/v1\nkind: {names['kind']}\nmetadata: {{name: one}}\n"
    (tmp_path / "a.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n- {thing.replace(chr(10), chr(10) + '  ')}")
    (tmp_path / "b.yml").write_text(_DEFINITION % names)
    (tmp_path / "notes.txt").write_text("no manifest")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deep"}}')
    done = rayward("apply", "-f", str(tmp_path))
    title = f"{names['kind'].lower()}.example.com/one"
    crd = f"customresourcedefinition.apiextensions.k8s.io/{names['plural']}.example.com"
    assert done.out.splitlines() == [f"{crd} created", f"{title} created"], done.err
    again = rayward("apply", "-R", "-f", str(tmp_path))
    assert again.out.splitlines()[-1] == "configmap/deep created"
    assert rayward("delete", "-f", str(tmp_path)).code == 0


def test_a_conflict_names_the_manager_the_field_and_the_flag(rayward: Rayward) -> None:
    from rayward.kube.client.config import find_access
    from rayward.kube.client.sync import SyncClient
    from rayward.kube.core.resource import CONFIG_MAPS

    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": rayward.namespace}}
    with SyncClient.connect(find_access(rayward.folder / "kubeconfig")) as client:
        client.apply(CONFIG_MAPS, {**body, "data": {"k": "theirs"}}, field_manager="somebody")
    done = rayward("apply", "-f", "-", stdin=_MAP % "ours")
    assert done.code == 5
    assert 'why: .data.k: conflict with "somebody"' in done.err
    assert "rayward apply --force-conflicts -f -" in done.err
    assert rayward("apply", "--force-conflicts", "-f", "-", stdin=_MAP % "ours").out == "configmap/a configured\n"


def test_of_several_documents_none_is_applied_when_one_is_wrong(rayward: Rayward) -> None:
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n"
    done = rayward("apply", "-f", "-", stdin=f"{_MAP % 'v'}---\n{bad}")
    assert (done.code, done.out) == (3, "")
    assert "configmap/Bad_Name in stdin (document 2)" in done.err
    assert done.err.endswith("nothing was applied\n")
    assert rayward("get", "cm/a").code == 4


def test_objects_come_with_their_namespace(rayward: Rayward) -> None:
    name = f"{rayward.namespace}-more"
    space = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
    text = f"{_MAP.replace('name: a', f'name: a, namespace: {name}') % 'v'}---\n{space}"
    done = run("apply", "--data-dir", str(rayward.folder), "-f", "-", stdin=text)
    assert (done.code, done.out) == (0, f"namespace/{name} created\nconfigmap/a created\n"), done.err
    assert run("delete", "--data-dir", str(rayward.folder), "--no-wait", "namespace", name).code == 0


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatas: {}\n", 3, "datas"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}\n", 3, "metadata.name"),
        ("apiVersion: example.com/v9\nkind: Nothing\nmetadata: {name: a}\n", 4, 'no kind "Nothing"'),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n", 2, "rayward apply -n other"),
    ],
    ids=["unknown field", "no name", "unknown kind", "another namespace"],
)
def test_what_is_refused(rayward: Rayward, text: str, code: int, said: str) -> None:
    done = rayward("apply", "-f", "-", stdin=text)
    assert done.code == code
    assert said in done.err


def test_the_result_as_json_yaml_or_name(rayward: Rayward) -> None:
    made = rayward("apply", "-f", "-", "-o", "json", stdin=_MAP % "v").json()
    assert (made["kind"], made["data"]) == ("ConfigMap", {"k": "v"})
    assert rayward("apply", "-f", "-", "-o", "name", stdin=_MAP % "v").out == "configmap/a\n"
    assert "  k: v\n" in rayward("apply", "-f", "-", "-o", "yaml", stdin=_MAP % "v").out


def test_the_fields_belong_to_rayward(rayward: Rayward) -> None:
    rayward("apply", "-f", "-", stdin=_MAP % "v")
    owners = rayward("get", "cm", "a", "-o", "json", "--show-managed-fields").json()["metadata"]["managedFields"]
    assert [(one["manager"], one["operation"]) for one in owners] == [("rayward", "Apply")]


_BEFORE = {"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}, "data": {"k": "v"}}


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (None, _BEFORE, "created"),
        (_BEFORE, {**_BEFORE, "metadata": {"name": "a", "resourceVersion": "2"}}, "unchanged"),
        (_BEFORE, {**_BEFORE, "data": {"k": "w"}}, "configured"),
    ],
    ids=["new", "only owners changed", "changed"],
)
def test_what_an_apply_did(before: dict[str, object] | None, after: dict[str, object], word: str) -> None:
    assert outcome(before, after) == word
