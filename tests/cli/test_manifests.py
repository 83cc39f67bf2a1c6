"""Manifests: what is read, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.cli.failure import CommandError
from rayward.cli.manifests import parse, read


def _names(text: str) -> list[str]:
    return [one.name for one in parse(text.encode(), "x")]


_A = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (_A % "a", ["a"]),
        (f"---\n{_A % 'a'}--- # next\n{_A % 'b'}---\n", ["a", "b"]),
        ('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}', ["j"]),
        ("# nothing\n", []),
        ("apiVersion: v1\nkind: ConfigMapList\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: l}}]", ["l"]),
        (f'{_A % "a"}data: {{script: "a\\n---\\nb"}}\n', ["a"]),
    ],
    ids=["one", "several", "json", "a comment", "a list", "a mark inside a text"],
)
def test_what_is_read(text: str, names: list[str]) -> None:
    assert _names(text) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "neither JSON nor YAML"),
        ("a: 1\na: 2\n", "twice"),
        ("just text", "not a Kubernetes object"),
        ("kind: Pod\n", "not a Kubernetes object"),
        ("[" * 5000, "neither JSON nor YAML"),
    ],
    ids=["broken", "twice", "text", "no version", "deep"],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(CommandError, match=said) as caught:
        _names(text)
    assert caught.value.code == 3


def test_what_others_need_comes_first(tmp_path: Path) -> None:
    kinds = ("Pod", "CustomResourceDefinition", "Namespace")
    for place, kind in enumerate(kinds):
        (tmp_path / f"{place}.yaml").write_text(f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n")
    assert [one.kind for one in read([str(tmp_path)], recursive=False)] == list(reversed(kinds))


@pytest.mark.parametrize("source", ["", "missing.yaml"])
def test_a_source_with_nothing_in_it_is_a_mistake_of_usage(tmp_path: Path, source: str) -> None:
    with pytest.raises(CommandError) as caught:
        read([str(tmp_path / source)], recursive=False)
    assert caught.value.code == 2
