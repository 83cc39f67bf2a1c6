"""A working directory as one archive, the same bytes for the same files.

It reaches the cluster as Secrets that the Ray pods mount, and Ray unpacks it on every node. Unlike a package in the
head's memory, which is where Ray's own upload goes, it is there for the next attempt on a new cluster, for a suspended
job that is resumed, and when the one who submitted has gone home. The limit is what a cluster's store bears without
notice: enough for code; data does not belong there.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rayward.changes.ignoring import ALWAYS, FILES, Rule, is_ignored, parse
from rayward.changes.outcomes import Invalid, UsageError

LIMIT: Final = 32_000_000
"""Bytes of the archive."""
_UNPACKED_LIMIT: Final = 256 * 1024 * 1024
_MOST_FILES: Final = 10_000
_LARGEST_SHOWN: Final = 5
_TOP: Final = "code"
"""Ray takes away the one folder that holds all others."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_IGNORE_FILE_LIMIT: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Package:
    """An archive of a folder.

    Attributes:
        data: The archive, a zip file.
        files: How many files it holds.
        size: Their bytes before compression.
        skipped: Links that lead out of the folder, and what is no file; they are not in it.
    """

    data: bytes
    files: int
    size: int
    skipped: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What names the content."""
        return hashlib.sha256(self.data).hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    path: Path
    size: int
    executable: bool


def pack(folder: Path) -> Package:
    """Archive what is not ignored.

    Raises:
        UsageError: There is no such folder.
        Invalid: It is too large, or holds nothing.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", "--working-dir names the folder with the code", "rayward run -h")
    skipped: list[str] = []
    files: list[_Found] = []
    total = 0
    for found in _walk(folder.resolve(), skipped):
        files.append(found)
        total += found.size
        if total > _UNPACKED_LIMIT or len(files) > _MOST_FILES:
            raise _too_large(folder, files, f"more than {amount(total)} in {len(files)} files, before compression")
    if not files:
        raise Invalid(f"{folder} holds no file that is not ignored", "", f"read {folder / '.gitignore'}")
    data = _archive(files)
    if len(data) > LIMIT:
        raise _too_large(folder, files, f"{amount(len(data))} compressed, in {len(files)} files")
    return Package(data, len(files), total, tuple(skipped))


def _walk(root: Path, skipped: list[str]) -> Iterator[_Found]:
    waiting: list[tuple[str, tuple[Rule, ...]]] = [("", parse(ALWAYS))]
    while waiting:
        below, rules = waiting.pop()
        here = root / below
        rules = (*rules, *_rules_of(here, below))
        for entry in sorted(os.scandir(here), key=lambda each: each.name):
            name = f"{below}/{entry.name}" if below else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_ignored(rules, name, is_folder=is_folder):
                continue
            if is_folder:
                waiting.append((name, rules))
                continue
            path = Path(entry.path)
            if entry.is_symlink() and not path.resolve().is_relative_to(root):
                skipped.append(name)
                continue
            mode = path.stat().st_mode if path.exists() else 0
            if not stat.S_ISREG(mode):
                skipped.append(name)
                continue
            yield _Found(name, path, path.stat().st_size, bool(mode & stat.S_IXUSR))


def _rules_of(folder: Path, base: str) -> tuple[Rule, ...]:
    rules: tuple[Rule, ...] = ()
    for name in FILES:
        file = folder / name
        if file.is_file() and file.stat().st_size <= _IGNORE_FILE_LIMIT:
            rules = (*rules, *parse(file.read_text(errors="replace").splitlines(), base))
    return rules


def _archive(files: list[_Found]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for found in sorted(files, key=lambda each: each.name):
            entry = zipfile.ZipInfo(f"{_TOP}/{found.name}", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if found.executable else 0o644)) << 16
            archive.writestr(entry, found.path.read_bytes())
    return buffer.getvalue()


def _too_large(folder: Path, files: list[_Found], what: str) -> Invalid:
    largest = sorted(files, key=lambda each: each.size, reverse=True)[:_LARGEST_SHOWN]
    why = [f"it is {what}; at most {amount(LIMIT)} compressed reach the cluster", "the largest files are:"]
    why += [f"  {amount(found.size):>10}  {found.name}" for found in largest]
    following = f"name what is not code in {folder / '.rayignore'}, or give data and large code in the image or a URL"
    return Invalid(f"{folder} is too large to upload", "\n".join(why), following)


def amount(count: int) -> str:
    """Bytes in the unit that a person would use."""
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"
