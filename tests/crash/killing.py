"""Kill a writing process again and again and compare what the next one finds with what was promised.

    python -m tests.crash.killing FOLDER KILLS SEED

Each process opens the store that the one before left, reports what it loaded, then writes with many writers at once and
reports every revision it is given and every acknowledgement. Nothing ever closes the store. The outcome is printed as
JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import struct
import sys
import time
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

import apsw
import uvloop

from rayward.local.store import Retention, Store, Tuning

_WRITERS = 32
_KEYS = 40
_TUNING = Tuning(max_queued=200, max_batch=16, checkpoint_bytes=300_000, idle_checkpoint_bytes=1, idle_seconds=0.002)
_RETENTION = Retention(events=50, seconds=0, superseded_bytes=100_000)
_MESSAGE = struct.Struct("<cQHBI")
_OPENED, _LOADED, _READY, _ISSUED, _ACKNOWLEDGED = b"O", b"L", b"R", b"I", b"A"


class Written(NamedTuple):
    """One write as the process reported it when it was given its revision."""

    revision: int
    key: int
    deletes: bool
    checksum: int


@dataclass
class Life:
    """What one process reported before it was killed."""

    ready: bool = False
    opened: int = 0
    loaded: dict[int, tuple[int, int]] = field(default_factory=dict)
    issued: list[Written] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)

    def hear(self, kind: bytes, revision: int, key: int, deletes: int, checksum: int) -> None:
        if kind == _OPENED:
            self.opened = revision
        elif kind == _LOADED:
            self.loaded[key] = (revision, checksum)
        elif kind == _READY:
            self.ready = True
        elif kind == _ISSUED:
            self.issued.append(Written(revision, key, bool(deletes), checksum))
        else:
            self.acknowledged.append(revision)


@dataclass
class Outcome:
    """What a campaign found; the last three must be zero or empty."""

    kills: int = 0
    kills_with_writes_in_flight: int = 0
    acknowledged: int = 0
    lost: int = 0
    reused: int = 0
    damage: list[str] = field(default_factory=list)


async def _write(path: Path, pipe: int, random: Random) -> None:
    def report(kind: bytes, revision: int = 0, key: int = 0, deletes: bool = False, checksum: int = 0) -> None:
        os.write(pipe, _MESSAGE.pack(kind, revision, key, deletes, checksum))

    store = await Store.open(path, on_commit=lambda _: None, tuning=_TUNING, retention=_RETENTION)
    report(_OPENED, store.revision)
    for record in store.snapshot("/pods/", store.revision):
        report(_LOADED, record.revision, int(record.key.rpartition("/")[2]), checksum=zlib.crc32(record.value))
    report(_READY)

    async def writer() -> None:
        while True:
            number = random.randrange(_KEYS)
            key = f"/pods/x/{number}"
            deletes = random.random() < 0.2 and store.newest(key) is not None
            size = random.choice((1, 30, 500))

            def encode(revision: int) -> bytes:
                value = b"%d " % revision * size  # noqa: B023 - called before put returns
                report(_ISSUED, revision, number, deletes, zlib.crc32(value))  # noqa: B023
                return value

            done = await (store.delete if deletes else store.put)(key, encode, expect=None)
            report(_ACKNOWLEDGED, done.revision)

    await asyncio.gather(*(writer() for _ in range(_WRITERS)))


def _live_and_die(path: Path, random: Random) -> Life:
    """Start a process, hear it, kill it at a random moment: one in twenty while it still opens the store."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            uvloop.run(_write(path, writing, random))
        finally:
            os._exit(1)
    os.close(writing)
    life = Life()
    buffer = bytearray()
    early = random.random() < 0.05
    deadline = time.monotonic() + (random.uniform(0, 0.005) if early else 30)
    waited = early
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            data = os.read(reading, 1 << 16)
            if not data:
                raise RuntimeError("the writing process ended by itself")
            _hear(life, buffer, data)
        if life.ready and not waited:
            waited = True
            deadline = time.monotonic() + random.uniform(0.0005, 0.02)
    os.kill(child, signal.SIGKILL)
    while data := os.read(reading, 1 << 16):
        _hear(life, buffer, data)
    os.close(reading)
    os.waitpid(child, 0)
    return life


def _hear(life: Life, buffer: bytearray, data: bytes) -> None:
    buffer += data
    whole = len(buffer) - len(buffer) % _MESSAGE.size
    for message in _MESSAGE.iter_unpack(buffer[:whole]):
        life.hear(*message)
    del buffer[:whole]


def lost_writes(before: dict[int, tuple[int, int]], life: Life, found: dict[int, tuple[int, int]]) -> int:
    """How many acknowledged writes of a life that began with ``before`` are missing from what was ``found`` after it.

    Commits are in order, so what is found must be the state after some write, and not one before the last
    acknowledged one.
    """
    last = max(life.acknowledged, default=0)
    state = dict(before)
    unacknowledged: list[Written] = []
    for write in life.issued:
        if write.revision <= last:
            _apply(state, write)
        else:
            unacknowledged.append(write)
    if state == found:
        return 0
    for write in unacknowledged:
        _apply(state, write)
        if state == found:
            return 0
    return max(1, sum(1 for revision in life.acknowledged if revision > max((r for r, _ in found.values()), default=0)))


def _apply(state: dict[int, tuple[int, int]], write: Written) -> None:
    if write.deletes:
        state.pop(write.key, None)
    else:
        state[write.key] = (write.revision, write.checksum)


def _integrity(path: Path) -> str:
    copy = path.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("copy"))
    connection = apsw.Connection(str(copy / path.name))
    try:
        return connection.pragma("integrity_check")
    finally:
        connection.close()


def campaign(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill ``kills`` times and judge every step."""
    random = Random(seed)
    outcome = Outcome()
    path = folder / "store.db"
    # What the last process that got ready had loaded and then did; those killed while opening change nothing.
    state: dict[int, tuple[int, int]] = {}
    unjudged = Life()
    highest = 0
    while outcome.kills < kills:
        life = _live_and_die(path, Random(random.random()))
        outcome.kills += 1
        outcome.acknowledged += len(life.acknowledged)
        outcome.kills_with_writes_in_flight += len(life.issued) > len(life.acknowledged)
        for write in life.issued:
            outcome.reused += write.revision <= highest
            highest = max(highest, write.revision)
        if outcome.kills % 50 == 0 and (verdict := _integrity(path)) != "ok":
            outcome.damage.append(verdict)
        if life.ready:
            outcome.lost += lost_writes(state, unjudged, life.loaded)
            outcome.lost += life.opened < max(unjudged.acknowledged, default=0)
            state, unjudged = life.loaded, life
    return outcome


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(campaign(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))) + "\n")
