"""The store against the least that durability costs: appending to a file and syncing it.

    python -m bench.store

Both sides write the same bytes in the same run, in turns; the ratios are what counts, the times depend on the disk.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from rayward.local.store import Event, Store

_VALUE = os.urandom(3_100)
_REPETITIONS = 3
_OBJECTS = 20_000


class _Commits:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, events: Sequence[Event]) -> None:
        self.count += 1


def _encode(_: int) -> bytes:
    return _VALUE


def _append(folder: Path, commits: int, rows: int) -> float:
    """Seconds for ``commits`` appends of ``rows`` values each, every one synced."""
    descriptor = os.open(folder / "append", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    data = _VALUE * rows
    began = time.perf_counter()
    for _ in range(commits):
        os.write(descriptor, data)
        os.fdatasync(descriptor)
    elapsed = time.perf_counter() - began
    os.close(descriptor)
    (folder / "append").unlink()
    return elapsed


async def _write(store: Store, writers: int, each: int) -> float:
    async def writer(number: int) -> None:
        for _ in range(each):
            await store.put(f"/pods/default/{number}", _encode, expect=None)

    began = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(writers)))
    return time.perf_counter() - began


async def _throughput(folder: Path, writers: int, total: int) -> None:
    store_rates: list[float] = []
    append_rates: list[float] = []
    batches: list[float] = []
    for repetition in range(_REPETITIONS):
        commits = _Commits()
        store = await Store.open(folder / f"{writers}-{repetition}.db", on_commit=commits)
        store_rates.append(total / await _write(store, writers, total // writers))
        batches.append(total / commits.count)
        await store.close()
        rows = max(1, round(batches[-1]))
        append_rates.append(total / _append(folder, total // rows, rows))
    ratio = statistics.median(ours / raw for ours, raw in zip(store_rates, append_rates, strict=True))
    print(
        f"{writers:3} writers   {statistics.median(store_rates):8,.0f} writes/s   "
        f"{statistics.median(batches):5.1f} writes a commit   "
        f"append+fdatasync of as many {statistics.median(append_rates):9,.0f}/s   ratio {ratio:.2f}"
    )


async def _latency(folder: Path, *, busy: bool, switch: float = 0.005) -> None:
    """One write at a time; ``busy``: while other tasks keep the loop from idling.

    The writer's thread must then wait for the interpreter lock, twice for each commit, up to ``switch`` seconds.
    """
    sys.setswitchinterval(switch)
    store = await Store.open(folder / f"latency-{busy}-{switch}.db", on_commit=_Commits())

    async def spin() -> None:
        while True:
            sum(range(2_000))
            await asyncio.sleep(0)

    noise = asyncio.create_task(spin()) if busy else None
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(300):
        began = time.perf_counter()
        await store.put("/pods/default/lone", _encode, expect=None)
        ours.append(time.perf_counter() - began)
        raw.append(_append(folder, 1, 1))
    if noise is not None:
        noise.cancel()
    await store.close()
    ours.sort()
    loop = f"busy, switch interval {switch * 1e3:g} ms" if busy else "idle"
    print(
        f"lone write, loop {loop}   p50 {statistics.median(ours) * 1e3:.2f} ms   "
        f"p99 {ours[-len(ours) // 100] * 1e3:.2f} ms   append+fdatasync p50 {statistics.median(raw) * 1e3:.2f} ms   "
        f"ratio {statistics.median(ours) / statistics.median(raw):.2f}"
    )


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def _fill(path: Path) -> None:
    store = await Store.open(path, on_commit=_Commits())
    for start in range(0, _OBJECTS, 1_000):
        names = range(start, start + 1_000)
        await asyncio.gather(*(store.put(f"/pods/default/{n}", lambda _: os.urandom(3_100), expect=0) for n in names))
    await store.close()


def _in_another_process(path: Path) -> None:
    """Fill a store without touching the memory that is measured next."""
    child = os.fork()
    if child == 0:
        uvloop.run(_fill(path))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("filling the store failed")


async def _opening(path: Path) -> None:
    before = _resident()
    began = time.perf_counter()
    store = await Store.open(path, on_commit=_Commits())
    elapsed = time.perf_counter() - began
    held = store.count("/pods/") * len(_VALUE)
    print(
        f"open with {store.count('/pods/'):,} objects of {len(_VALUE)} bytes   {elapsed * 1e3:.0f} ms   "
        f"memory {(_resident() - before) / held:.2f} times their bytes"
    )
    await store.close()


def _main(folder: Path) -> None:
    if sys.platform == "linux":
        _in_another_process(folder / "opening.db")
        uvloop.run(_opening(folder / "opening.db"))
    for writers, total in ((1, 1_500), (16, 8_000), (64, 16_000)):
        uvloop.run(_throughput(folder, writers, total))
    uvloop.run(_latency(folder, busy=False))
    uvloop.run(_latency(folder, busy=True))
    uvloop.run(_latency(folder, busy=True, switch=0.0005))


def main(parent: str | None = None) -> None:
    """Measure in a temporary folder, inside ``parent`` if the disk there is the one that matters."""
    with tempfile.TemporaryDirectory(prefix="rayward-bench-", dir=parent) as name:
        _main(Path(name))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
