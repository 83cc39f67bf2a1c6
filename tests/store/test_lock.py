from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rayward.local.store import LockedError
from rayward.local.store.lock import FileLock

_HOLDER = """
import sys
from pathlib import Path
from rayward.local.store.lock import FileLock
lock = FileLock.take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_taker_is_told_who_holds_it(tmp_path: Path) -> None:
    lock = FileLock.take(tmp_path / "db")
    with pytest.raises(LockedError, match=f"process {os.getpid()}") as caught:
        FileLock.take(tmp_path / "db")
    assert caught.value.pid == os.getpid()
    lock.release()


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    FileLock.take(tmp_path / "db").release()
    FileLock.take(tmp_path / "db").release()


def test_releasing_twice_does_no_harm(tmp_path: Path) -> None:
    lock = FileLock.take(tmp_path / "db")
    lock.release()
    lock.release()


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedError) as caught:
            FileLock.take(path)
        assert caught.value.pid == holder.pid
        holder.kill()
        holder.wait()
    FileLock.take(path).release()


@pytest.mark.parametrize("content", [b"", b"not a number\n"], ids=["empty", "garbage"])
def test_a_holder_that_wrote_no_number_is_unknown(tmp_path: Path, content: bytes) -> None:
    lock = FileLock.take(tmp_path / "db")
    (tmp_path / "db.lock").write_bytes(content)
    with pytest.raises(LockedError, match="another process") as caught:
        FileLock.take(tmp_path / "db")
    assert caught.value.pid is None
    lock.release()
