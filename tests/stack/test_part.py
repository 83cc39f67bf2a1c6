"""What runs as a process of its own."""

from __future__ import annotations

from pathlib import Path

from rayward.stack.folder import Folder
from rayward.stack.part import parts


def test_the_node_hides_the_whole_data_folder_even_inside_of_a_project(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    node = next(part for part in parts(folder, port=0, node=(), operator=False) if part.name == "node")
    assert node.command[node.command.index("--hide") + 1] == str(folder.root)
