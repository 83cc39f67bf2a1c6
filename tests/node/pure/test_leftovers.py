"""Which nodes an earlier run of a process left."""

from __future__ import annotations

from pathlib import Path

from rayward.kube.core.node import Node
from rayward.kube.core.objects import ObjectMeta
from rayward.local.node.leftovers import left_behind
from rayward.local.node.registering import PROCESS, own_process


def _node(name: str, process: str | None) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=None if process is None else {PROCESS: process}))


def test_only_nodes_of_this_process_under_other_names_are_left() -> None:
    nodes = [_node("a", "me"), _node("b", "me"), _node("c", "other"), _node("d", None)]
    assert left_behind(nodes, "me", ("a", "e")) == ["b"]


def test_a_process_keeps_its_name_in_its_data_folder(tmp_path: Path) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    for folder in (first, other):
        folder.mkdir()
    assert own_process(first) == own_process(first)
    assert own_process(first) != own_process(other)
