"""One run of one container: its namespaces, its init, its program."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Never

from rayward.local.fdpass import channel
from rayward.local.node.sandbox import linux, process, root

_FORWARDED: Final = tuple(
    number
    for number in signal.valid_signals()
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE)
)


def begin(spec: Mapping[str, Any], shared_memory: str, streams: tuple[int, int, int], report: socket.socket) -> None:
    """Fork the init of a container.

    ``streams`` are its stdin, stdout and stderr; ``report`` is told ``init`` (its id), then ``started`` (with the
    terminal, if it has one) or ``failed``, then ``code``. The caller becomes the init's parent.
    """
    kept = [*streams, report.fileno()]

    def first() -> int:
        process.keep_only(kept)
        linux.unshare(linux.NEW_MOUNTS | linux.NEW_PIDS)
        channel.send(report, {"init": process.fork(second)})
        return 0

    def second() -> int:
        return _init(spec, shared_memory, streams, report)

    process.fork(first)


def _init(spec: Mapping[str, Any], shared_memory: str, streams: tuple[int, int, int], report: socket.socket) -> int:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        for group in spec.get("groups") or ():
            Path(group).write_text("0")
        linux.mount(None, "/", None, linux.PRIVATE | linux.RECURSIVE)
        root.build(spec["root"], shared_memory, spec["mounts"], devices=spec["devices"], hidden=spec["hidden"])
        linux.change_root(spec["root"])
        if spec.get("readOnlyRoot"):
            flags = linux.REMOUNT | linux.READ_ONLY | linux.BIND | linux.NO_SUID | linux.NO_DEV
            linux.mount(None, "/", None, flags)
        main, terminal = _start_program(spec, streams)
    except OSError as error:
        where = f" {error.filename!r}" if error.filename else ""
        channel.send(report, {"failed": f"error mounting{where}: {error.strerror}"})
        return process.NOT_STARTED
    except process.NotStarted as error:
        channel.send(report, {"failed": str(error)})
        return process.NOT_STARTED
    channel.send(report, {"started": True}, () if terminal is None else (terminal,))
    code = _tend(main)
    channel.send(report, {"code": code})
    return code


def _start_program(spec: Mapping[str, Any], streams: tuple[int, int, int]) -> tuple[int, int | None]:
    problem_in, problem_out = os.pipe()
    terminal, side = os.openpty() if spec.get("tty") else (None, None)

    def program() -> int:
        try:
            _become(spec, streams if side is None else (side, side, side), terminal=side is not None)
        except (process.NotStarted, OSError) as error:
            os.write(problem_out, str(error).encode())
            return process.NOT_STARTED

    main = process.fork(program)
    os.close(problem_out)
    if side is not None:
        os.close(side)
    with os.fdopen(problem_in, "rb") as problems:
        problem = problems.read()
    if problem:
        raise process.NotStarted(problem.decode(errors="replace"))
    for stream in streams:
        os.close(stream)
    return main, terminal


def _become(spec: Mapping[str, Any], streams: tuple[int, int, int], *, terminal: bool) -> Never:
    os.setsid()
    process.use_as_standard(streams)
    variables: dict[str, str] = spec["env"]
    if terminal:
        process.take_terminal(0)
        variables = {"TERM": "xterm", **variables}
    os.umask(0o022)
    process.run(spec["command"], variables, spec["cwd"], spec.get("user"))


def _tend(main: int) -> int:
    # Pid 1 of the container: hands signals on, buries orphans, and ends with the program; the kernel ends the rest.
    while True:
        caught = signal.sigwait((*_FORWARDED, signal.SIGCHLD))
        if caught != signal.SIGCHLD:
            os.kill(main, caught)
            continue
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == main:
                return process.read_code(status)
            if ended == 0:
                break


def enter(spec: Mapping[str, Any], init: int, streams: tuple[int, int, int], report: socket.socket) -> int:
    """Fork a command into a running container; ``report`` is told ``started`` or ``failed``. Returns the child."""
    kept = [*streams, report.fileno()]

    def first() -> int:
        process.keep_only(kept)
        for name in ("pid", "mnt"):
            descriptor = os.open(f"/proc/{init}/ns/{name}", os.O_RDONLY)
            linux.enter(descriptor)
            os.close(descriptor)
        try:
            main, terminal = _start_program(spec, streams)
        except process.NotStarted as error:
            channel.send(report, {"failed": str(error)})
            return process.NOT_STARTED
        channel.send(report, {"started": True, "main": main}, () if terminal is None else (terminal,))
        if terminal is not None:
            os.close(terminal)
        _, status = os.waitpid(main, 0)
        return process.read_code(status)

    return process.fork(first)
