"""``rayward exec``: streams, exit codes, a real terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from rayward.cli.exec import exit_code
from rayward.cli.failure import CommandError
from tests.cli.rayward import Rayward
from tests.waiting import eventually


def test_the_exit_code_of_the_command_is_ours(web: Rayward) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    done = web.program("exec", "web", "-c", "main", "--", "python3", "-c", script)
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n")


def test_stdin_is_handed_on_to_its_end(web: Rayward) -> None:
    with web.process("exec", "-i", "svc/web", "-c", "main", "--", "cat") as running:
        out, _ = running.communicate("hello\nworld\n", timeout=60)
    assert out == "hello\nworld\n"
    assert running.returncode == 0


def test_a_terminal_of_the_right_size_that_changes(web: Rayward) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    words = web.words("exec", "-it", "web", "-c", "main", "--", "python3", "-i", "-q")
    command = [sys.executable, "-m", "rayward.cli", *words]
    before = termios.tcgetattr(theirs)

    def be_foreground() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    running = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=be_foreground
    )
    heard = bytearray()
    os.set_blocking(ours, False)

    def says(words: bytes) -> bool:
        with contextlib.suppress(BlockingIOError):
            heard.extend(os.read(ours, 65536))
        return words in heard

    try:
        eventually(lambda: says(b">>> "))
        os.write(ours, b"import os; print('size', *os.get_terminal_size())\r")
        eventually(lambda: says(b"size 77 33"))
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 99, 0, 0))

        def resized() -> bool:
            os.write(ours, b"print('size', *os.get_terminal_size())\r")
            return says(b"size 99 44")

        eventually(resized)
        os.write(ours, b"exit(3)\r")
        eventually(lambda: not says(b"never said") and running.poll() is not None)
        assert running.returncode == 3
        assert termios.tcgetattr(theirs) == before, "the terminal is as it was"
    finally:
        running.kill()
        running.wait()
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nix", "--", "true"], 4, "rayward get pods -A"),
        (["web", "-c", "nix", "--", "true"], 4, "it has: main, helper"),
        (["web", "-c", "main", "--", "no-such-program"], 3, "executable file not found"),
        (["web"], 2, "COMMAND"),
    ],
    ids=["no pod", "no container", "no program", "no command"],
)
def test_mistakes_say_what_to_do(web: Rayward, words: list[str], code: int, said: str) -> None:
    done = web.program("exec", *words)
    assert (done.code, said in done.err) == (code, True), done.err


def test_a_pod_that_does_not_run(rayward: Rayward) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: done}\n"
        "spec: {restartPolicy: Never, containers: [{name: main, image: python, command: ['true']}]}\n"
    )
    rayward("apply", "-f", "-", stdin=pod)
    eventually(lambda: "Completed" in rayward("get", "pod", "done").out)
    told = rayward.program("exec", "done", "--", "true")
    assert told.code == 3
    assert "why: terminated: Completed\n  next: rayward describe pod done" in told.err


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (b'{"status":"Success"}', 0),
        (b'{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"42"}]}}', 42),
    ],
    ids=["success", "exit code"],
)
def test_how_a_command_ended(outcome: bytes, code: int) -> None:
    assert exit_code(outcome, "p") == code


@pytest.mark.parametrize(("outcome", "code"), [(b"", 10), (b"not json", 3), (b'{"status":"Failure"}', 3)])
def test_nobody_knows_how_it_ended(outcome: bytes, code: int) -> None:
    with pytest.raises(CommandError) as caught:
        exit_code(outcome, "p")
    assert caught.value.code == code
