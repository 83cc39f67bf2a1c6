from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from rayward.changes import packing
from rayward.changes.outcomes import Invalid, UsageError
from rayward.changes.packing import pack


def _tree(folder: Path, *names: str) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return folder


def _names(data: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(data)).namelist()


def test_what_is_not_ignored_lies_in_one_folder(tmp_path: Path) -> None:
    _tree(tmp_path, "train.py", "lib/a.py", "lib/__pycache__/a.pyc", ".git/config", ".venv/bin/python", ".env", "x.csv")
    (tmp_path / ".gitignore").write_text(".env\n")
    (tmp_path / ".rayignore").write_text("*.csv\n")
    package = pack(tmp_path)
    assert _names(package.data) == ["code/.gitignore", "code/.rayignore", "code/lib/a.py", "code/train.py"]
    assert package.files == 4


def test_the_same_files_are_the_same_archive(tmp_path: Path) -> None:
    one, two = _tree(tmp_path / "one", "b.py", "a.py"), _tree(tmp_path / "two", "a.py", "b.py")
    os.utime(two / "a.py", (1, 1))
    assert pack(one).data == pack(two).data
    (two / "a.py").write_text("other")
    assert pack(one).digest != pack(two).digest


def test_what_may_be_run_stays_so(tmp_path: Path) -> None:
    _tree(tmp_path, "run.sh")
    (tmp_path / "run.sh").chmod(0o700)
    (entry,) = zipfile.ZipFile(io.BytesIO(pack(tmp_path).data)).infolist()
    assert (entry.external_attr >> 16) & 0o777 == 0o755


def test_links_out_of_the_folder_and_pipes_are_left_out_and_named(tmp_path: Path) -> None:
    _tree(tmp_path, "outside/key", "code/a.py")
    code = tmp_path / "code"
    (code / "inside").symlink_to("a.py")
    (code / "leak").symlink_to(tmp_path / "outside" / "key")
    (code / "dangling").symlink_to(code / "nothing")
    os.mkfifo(code / "pipe")
    package = pack(code)
    assert _names(package.data) == ["code/a.py", "code/inside"]
    assert package.skipped == ("dangling", "leak", "pipe")


def test_too_large_a_folder_is_rejected_with_its_largest_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LIMIT", 100_000)
    _tree(tmp_path, "train.py")
    (tmp_path / "weights.bin").write_bytes(os.urandom(packing.LIMIT + 1))
    with pytest.raises(Invalid) as failure:
        pack(tmp_path)
    assert "weights.bin" in failure.value.why
    assert ".rayignore" in failure.value.following


def test_a_huge_folder_is_given_up_before_all_of_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_MOST_FILES", 3)
    with pytest.raises(Invalid, match="too large"):
        pack(_tree(tmp_path, "a", "b", "c", "d"))


def test_an_empty_folder_and_no_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="holds no file"):
        pack(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        pack(tmp_path / "nowhere")
