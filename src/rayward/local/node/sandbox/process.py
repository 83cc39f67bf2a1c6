"""Turning a fork into the program of a container."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Never

from rayward.local.node.sandbox import linux

NOT_STARTED: Final = 128
_FIRST_INHERITED: Final = 3
# What Docker gives; Ray's start command asks for 65536.
_OPEN_FILES: Final = 1024 * 1024


class NotStarted(Exception):  # noqa: N818
    """A program did not start; the text is for the user."""


def fork(body: Callable[[], int]) -> int:
    """Run ``body`` in a child that ends with its answer; returns the child's id."""
    child = os.fork()
    if child:
        return child
    code = 255
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        code = body()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def keep_only(kept: Sequence[int]) -> None:
    """Close every descriptor but the standard three and those in ``kept``."""
    below = _FIRST_INHERITED
    for descriptor in sorted(kept):
        os.closerange(below, descriptor)
        below = max(below, descriptor + 1)
    os.closerange(below, os.sysconf("SC_OPEN_MAX"))


def raise_open_files() -> int:
    """Let this process and its children open as many files as containers expect, or as many as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(most, min(_OPEN_FILES, int(Path("/proc/sys/fs/nr_open").read_text())))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    except (OSError, ValueError):
        # Only who administers the machine may go beyond what it was given.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return most
    return wanted


def use_as_standard(descriptors: Sequence[int]) -> None:
    """Make three descriptors stdin, stdout and stderr."""
    # First out of the way of each other, then into place.
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in descriptors]
    for number, descriptor in enumerate(moved):
        os.dup2(descriptor, number, inheritable=True)


def take_terminal(terminal: int) -> None:
    """Make a terminal the controlling one of this session."""
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def become_user(uid: int, gid: int) -> None:
    """Go on as another user, as far as anyone inside can tell: a nested user namespace renames our own."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    linux.unshare(linux.NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")


def run(command: Sequence[str], environment: Mapping[str, str], folder: str, user: Sequence[int] | None) -> Never:
    """Become ``command``.

    Raises:
        NotStarted: It is not there, or may not be run.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        raise NotStarted(f'chdir to cwd ("{folder}") set in config.json failed: {_reason(error)}') from error
    if user is not None:
        become_user(user[0], user[1])
    program = _find(command[0], environment.get("PATH", "/usr/bin:/bin"))
    linux.drop_capabilities()
    # What is ignored or blocked here would stay so in the program.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execve(program, list(command), dict(environment))  # noqa: S606
    except OSError as error:
        raise NotStarted(f'exec: "{command[0]}": {_reason(error)}') from error


def _find(name: str, path: str) -> str:
    if "/" in name:
        try:
            found = Path(name).stat()
        except OSError as error:
            raise NotStarted(f'exec: "{name}": stat {name}: {_reason(error)}') from error
        if not found.st_mode & 0o111:
            raise NotStarted(f'exec: "{name}": permission denied')
        return name
    for folder in path.split(":"):
        candidate = os.path.join(folder or ".", name)  # noqa: PTH118
        # Unlike a Path, this takes a folder that may not be read for one without the file.
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):  # noqa: PTH113
            return candidate
    raise NotStarted(f'exec: "{name}": executable file not found in $PATH')


def _reason(error: OSError) -> str:
    known = {errno.ENOENT: "no such file or directory", errno.EACCES: "permission denied"}
    return known.get(error.errno or 0, error.strerror or str(error)).lower()


def read_code(status: int) -> int:
    """The exit code that container runtimes give a wait status."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
