"""Files that change all at once."""

from __future__ import annotations

import os
from pathlib import Path

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
