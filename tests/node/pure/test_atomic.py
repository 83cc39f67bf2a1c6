"""Files that change all at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rayward.local.node.volumes import atomic
from rayward.local.node.volumes.content import File


def test_files_change_all_at_once(tmp_path: Path) -> None:
    assert atomic.write(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    assert (tmp_path / "a").read_bytes() == b"1"
    assert ((tmp_path / "deep/b").stat().st_mode & 0o777) == 0o600
    assert not atomic.write(tmp_path, {"a": File(b"1"), "deep/b": File(b"2", 0o600)})
    held = os.open(tmp_path / "..data", os.O_PATH | os.O_DIRECTORY)
    try:
        assert atomic.write(tmp_path, {"c": File(b"3")})
        assert sorted(entry.name for entry in tmp_path.iterdir() if not entry.name.startswith("..")) == ["c"]
        assert len([entry for entry in tmp_path.iterdir() if entry.name.startswith("..2")]) == 1
    finally:
        os.close(held)


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_that_leads_elsewhere_is_replaced_and_not_followed(tmp_path: Path, absolute: bool) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "volume"
    elsewhere.mkdir()
    (elsewhere / "a").write_bytes(b"1")
    (elsewhere / "a").chmod(0o644)
    atomic.write(folder, {"a": File(b"0")})
    (folder / "..data").unlink()
    (folder / "..data").symlink_to(elsewhere if absolute else "../elsewhere")
    # The same files are there, but they are not the volume's.
    assert atomic.write(folder, {"a": File(b"1")})
    assert (folder / "..data").resolve().parent == folder
    assert (folder / "a").read_bytes() == b"1"
    assert (elsewhere / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda current: (current / "a").write_bytes(b"2"),
        lambda current: (current / "a").chmod(0o600),
        lambda current: (current / "more").touch(),
        lambda current: (current / "a").unlink(),
        lambda current: ((current / "a").rename(current.parent / "..moved"), (current / "a").symlink_to("../..moved")),
    ],
    ids=["content", "mode", "one more", "one less", "a link"],
)
def test_what_was_changed_is_put_right(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    files = {"a": File(b"1")}
    atomic.write(tmp_path, files)
    spoil((tmp_path / "..data").resolve())
    assert atomic.write(tmp_path, files)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert not atomic.write(tmp_path, files)


def test_a_folder_in_the_place_of_a_file_makes_way(tmp_path: Path) -> None:
    # A container that mounts a part that is not there yet has a folder made in its place.
    atomic.write(tmp_path, {"a": File(b"1")})
    for name in ("soon", "never"):
        (tmp_path / name / "deep").mkdir(parents=True)
    assert atomic.write(tmp_path, {"soon": File(b"2")})
    assert (tmp_path / "soon").read_bytes() == b"2"
    assert [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith("..")] == ["soon"]
