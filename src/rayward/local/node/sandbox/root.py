"""The files that a container sees: the machine's programs, read-only, its own folders, and what is mounted for it."""

from __future__ import annotations

# Names of mounts and descriptors, not paths of this process:
# ruff: noqa: PTH102, PTH103, PTH115, PTH116, PTH120, PTH208, PTH211
import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from rayward.local.node.sandbox import linux, part, visible

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
# What container runtimes close of /proc: it is the whole machine's, and a pod's root may be the machine's root.
_KERNELS_READ_ONLY: Final = ("bus", "fs", "irq", "sys", "sysrq-trigger")
_KERNELS_HIDDEN: Final = (
    "acpi",
    "asound",
    "kcore",
    "keys",
    "latency_stats",
    "sched_debug",
    "scsi",
    "timer_list",
    "timer_stats",
)
_MOST_LINKS: Final = 40
_LINKS: Final = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)


def build(
    root: str,
    shared_memory: str,
    mounts: Iterable[dict[str, Any]],
    *,
    devices: Iterable[str] = (),
    hidden: Iterable[str] = (),
) -> None:
    """Lay out a container's files under ``root``; the caller is alone in its mount and pid namespace.

    ``devices`` are names below /dev, ``hidden`` folders and files that stay out of sight even where a mount shows
    what is around them.
    """
    mounts = list(mounts)
    linux.mount("tmpfs", root, "tmpfs", linux.NO_SUID | linux.NO_DEV, "mode=755")
    for path in visible.SYSTEM:
        _show(path, f"{root}{path}", follow=False)
    for name in visible.SETTINGS:
        _show(f"/etc/{name}", f"{root}/etc/{name}", follow=True)
    for name in ("proc", "dev", "run", "tmp", "etc", *visible.EMPTY):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    os.symlink("/run", f"{root}/var/run")
    linux.mount("proc", f"{root}/proc", "proc")
    _close_kernel(root)
    linux.mount("tmpfs", f"{root}/run", "tmpfs", linux.NO_SUID | linux.NO_DEV, "mode=755")
    _lay_devices(f"{root}/dev", shared_memory, devices)
    # Where they really are: a target may be spelled with ".." or lead through links.
    targets = [_place(root, mount).removeprefix(root) or "/" for mount in mounts]
    for path in hidden:
        for folder in _between(path, targets):
            _pin(root + folder)
        _hide(root + path)


def _between(path: str, targets: Iterable[str]) -> list[str]:
    """The folders that lead from what is mounted to a hidden path, outer ones first."""
    around = Path(os.path.normpath(path)).parents
    found = {str(folder) for folder in around for target in targets if Path(target) in folder.parents}
    return sorted(found, key=len)


def _pin(path: str) -> None:
    # Moved, a folder would take what is hidden in it to where the next container does not look for it: a mount stays.
    if Path(path).is_dir():
        linux.mount(path, path, None, linux.BIND | linux.RECURSIVE)


def _hide(path: str) -> None:
    if Path(path).is_dir():
        linux.mount("tmpfs", path, "tmpfs", linux.READ_ONLY, "mode=755,size=4k")
    elif Path(path).is_file():
        linux.mount("/dev/null", path, None, linux.BIND)


def _close_kernel(root: str) -> None:
    processes = f"{root}/proc"
    # Only now: a user without rights gets no new /proc where parts of the last one are covered.
    for name in _KERNELS_READ_ONLY:
        path = f"{processes}/{name}"
        with contextlib.suppress(FileNotFoundError, PermissionError):
            linux.mount(path, path, None, linux.BIND)
            linux.make_read_only(path)
    for name in _KERNELS_HIDDEN:
        with contextlib.suppress(PermissionError):
            _hide(f"{processes}/{name}")
    for name in visible.HIDDEN_OF_SYS:
        with contextlib.suppress(PermissionError):
            _hide(f"{root}/sys/{name}")


def _show(source: str, target: str, *, follow: bool) -> None:
    # A link of /etc may lead to a folder that is not shown: what it leads to takes its place.
    source = os.path.realpath(source) if follow else source
    try:
        kind = os.lstat(source).st_mode
    except (FileNotFoundError, PermissionError):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink(source), target)
        return
    if stat.S_ISDIR(kind):
        os.mkdir(target)
    elif stat.S_ISREG(kind):
        Path(target).touch()
    else:
        return
    linux.mount(source, target, None, linux.BIND | linux.RECURSIVE)
    linux.make_read_only(target)


def _lay_devices(folder: str, shared_memory: str, more: Iterable[str]) -> None:
    linux.mount("tmpfs", folder, "tmpfs", linux.NO_SUID, "mode=755")
    for name in (*_DEVICES, *more):
        source = f"/dev/{name}"
        if Path(source).is_char_device():
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            Path(folder, name).touch()
            linux.mount(source, f"{folder}/{name}", None, linux.BIND)
    os.mkdir(f"{folder}/pts")
    linux.mount("devpts", f"{folder}/pts", "devpts", linux.NO_SUID, "newinstance,ptmxmode=0666,mode=620")
    for name, leads_to in _LINKS:
        os.symlink(leads_to, f"{folder}/{name}")
    os.mkdir(f"{folder}/shm", 0o1777)
    linux.mount(shared_memory, f"{folder}/shm", None, linux.BIND)


def _place(root: str, mount: dict[str, Any]) -> str:
    if "volume" in mount:
        with part.opened(mount["volume"], mount["part"]) as found:
            return _bind(root, f"/proc/self/fd/{found}", mount)
    return _bind(root, mount["source"], mount)


def _bind(root: str, source: str, mount: dict[str, Any]) -> str:
    target = make_point(root, mount["target"], is_folder=Path(source).is_dir())
    linux.mount(source, target, None, linux.BIND | linux.RECURSIVE)
    if mount.get("readOnly"):
        linux.make_read_only(target)
    return target


def make_point(root: str, path: str, *, is_folder: bool) -> str:
    """The place of ``path`` under ``root``, made if it is missing, links followed as if ``root`` were the root."""
    here = root
    parts = [part for part in path.split("/") if part not in ("", ".")]
    links = 0
    while parts:
        part = parts.pop(0)
        if part == "..":
            here = root if here == root else os.path.dirname(here)
            continue
        there = f"{here}/{part}"
        try:
            kind = os.lstat(there).st_mode
        except FileNotFoundError:
            _make(here, part, is_folder=is_folder or bool(parts))
            kind = os.lstat(there).st_mode
        if stat.S_ISLNK(kind):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from None
            leads_to = os.readlink(there)
            if leads_to.startswith("/"):
                here = root
            parts = [step for step in leads_to.split("/") if step not in ("", ".")] + parts
            continue
        here = there
    if Path(here).is_dir() != is_folder:
        wanted = "a folder" if is_folder else "a file"
        raise OSError(errno.ENOTDIR, f"cannot mount {wanted} there: it is something else", path)
    return here


def _make(folder: str, name: str, *, is_folder: bool) -> None:
    try:
        _make_plain(folder, name, is_folder=is_folder)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        _open_up(folder)
        _make_plain(folder, name, is_folder=is_folder)


def _make_plain(folder: str, name: str, *, is_folder: bool) -> None:
    if is_folder:
        os.mkdir(f"{folder}/{name}")
    else:
        Path(folder, name).touch(exist_ok=False)


def _open_up(folder: str) -> None:
    # A mount point cannot be made in a folder that is read-only: put a writable one over it that shows the same.
    below = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        names = os.listdir(folder)
        mode = stat.S_IMODE(os.stat(folder).st_mode)
        linux.mount("tmpfs", folder, "tmpfs", linux.NO_SUID | linux.NO_DEV, f"mode={mode:o}")
        for name in names:
            source = f"/proc/self/fd/{below}/{name}"
            target = f"{folder}/{name}"
            kind = os.lstat(source).st_mode
            if stat.S_ISLNK(kind):
                os.symlink(os.readlink(source), target)
                continue
            if stat.S_ISDIR(kind):
                os.mkdir(target)
            else:
                Path(target).touch()
            linux.mount(source, target, None, linux.BIND | linux.RECURSIVE)
    finally:
        os.close(below)
