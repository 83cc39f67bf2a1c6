"""Files that only their owner reads."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rayward.local.apiserver.credentials import write_private


def test_a_private_file_is_on_disk_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), (tmp_path / "key").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    write_private(tmp_path / "key", b"secret")
    assert synced == [(False, False), (True, True)], "first the content, then the folder with the new name"
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
