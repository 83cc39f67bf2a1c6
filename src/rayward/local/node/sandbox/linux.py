"""The system calls of Linux that Python 3.11 has no name for."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from typing import Final

NEW_MOUNTS: Final = 0x00020000
NEW_NAMES: Final = 0x04000000
NEW_IPC: Final = 0x08000000
NEW_USER: Final = 0x10000000
NEW_PIDS: Final = 0x20000000
NEW_NETWORK: Final = 0x40000000

READ_ONLY: Final = 0x1
NO_SUID: Final = 0x2
NO_DEV: Final = 0x4
REMOUNT: Final = 0x20
BIND: Final = 0x1000
RECURSIVE: Final = 0x4000
PRIVATE: Final = 0x40000
SLAVE: Final = 0x80000
DETACH: Final = 0x2

_DROP_BOUNDING: Final = 24
_LAST_POWER: Final = 40
# What container runtimes leave to the root of a container: nothing with which mounts or the network can be changed.
_KEPT_POWERS: Final = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31})
_HERE: Final = -100
_AT_RECURSIVE: Final = 0x8000
_ATTRIBUTE_READ_ONLY: Final = 0x1
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_KEYCTL: Final = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING: Final = 1
_MOUNT_SETATTR: Final = 442
_OPENAT2: Final = 437
_NO_MAGIC_LINKS: Final = 0x02
_BENEATH: Final = 0x08
_MOST_TRIES: Final = 100

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


class _HowToOpen(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def unshare(flags: int) -> None:
    """Leave the namespaces that ``flags`` name for new ones; a new pid namespace begins with the next child."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def enter(namespace: int, kind: int = 0) -> None:
    """Join the namespace behind a descriptor."""
    _checked(_libc.setns(ctypes.c_int(namespace), ctypes.c_int(kind)), "setns")


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """Mount, as the manual says of the call of this name."""
    answer = _libc.mount(
        _text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(options) if options else None
    )
    _checked(answer, "mount", target)


def unmount(target: str, flags: int = DETACH) -> None:
    """Unmount, by default even what is in use."""
    _checked(_libc.umount2(_text(target), ctypes.c_int(flags)), "umount", target)


def make_read_only(target: str) -> None:
    """Forbid writing through the mount at ``target`` and all below it."""
    attributes = _MountAttributes(_ATTRIBUTE_READ_ONLY, 0, 0, 0)
    answer = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_HERE),
        _text(target),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _checked(answer, "mount_setattr", target)


def open_beneath(folder: int, path: str) -> int:
    """A descriptor of ``path`` in the folder behind a descriptor; EXDEV where a name or a link leads out of it."""
    how = _HowToOpen(os.O_PATH | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGIC_LINKS)
    tries = 0
    while True:
        answer: int = _libc.syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(folder),
            _text(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        tries += 1
        # Renames anywhere on the machine make the kernel unsure of a "..": it wants to be asked again.
        if answer >= 0 or ctypes.get_errno() != errno.EAGAIN or tries == _MOST_TRIES:
            break
    _checked(min(answer, 0), "openat2", path)
    return answer


def change_root(root: str) -> None:
    """Make the mount at ``root`` the root of this mount namespace and let go of the old one."""
    os.chdir(root)
    number = _PIVOT_ROOT[platform.machine()]
    _checked(_libc.syscall(ctypes.c_long(number), b".", b"."), "pivot_root", root)
    # Both roots are stacked at "/" now; the old one is on top.
    unmount(".", DETACH)
    os.chdir("/")


def leave_keyring() -> None:
    """Begin with an empty keyring instead of the session's, whose keys no namespace keeps apart.

    Raises:
        OSError: The old one is still there: the kernel refuses the call, or the user has too many keys already.
    """
    number = _KEYCTL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"keyctl: {os.strerror(errno.ENOSYS)}")
    answer: int = _libc.syscall(ctypes.c_long(number), ctypes.c_long(_JOIN_SESSION_KEYRING), ctypes.c_void_p(None))
    _checked(min(answer, 0), "keyctl")


def drop_capabilities() -> None:
    """Keep the next program from the capabilities that would let it out of its namespaces."""
    for power in range(_LAST_POWER + 1):
        if power not in _KEPT_POWERS:
            _libc.prctl(ctypes.c_int(_DROP_BOUNDING), ctypes.c_ulong(power), 0, 0, 0)


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def _checked(answer: int, call: str, subject: str = "") -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}", subject or None)
