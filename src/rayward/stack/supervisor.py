"""The supervisor: starts the parts, restarts one that falls, and takes all of them along when it goes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import Process
from dataclasses import dataclass
from pathlib import Path

from rayward.stack import state
from rayward.stack.folder import Folder
from rayward.stack.part import Part, parts
from rayward.stack.state import PartState, StackState, tail

_LONGEST_PAUSE = 10.0
_STEADY_SECONDS = 60.0
_GRACE_SECONDS = 8.0
_START_SECONDS = 30.0
_STARTS_BEFORE_GIVING_UP = 3
_LOG_LIMIT = 10 << 20
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def next_pause(previous: float, lived: float) -> float:
    """How long to wait before a part is started again: longer each time, unless it ran well for a while."""
    return 0.0 if lived >= _STEADY_SECONDS else min(max(previous * 2, 0.25), _LONGEST_PAUSE)


@dataclass(slots=True)
class _Running:
    part: Part
    process: Process | None = None
    phase: str = "starting"
    restarts: int = 0
    reason: str = ""

    def seen(self) -> PartState:
        pid = self.process.pid if self.process is not None and self.phase == "running" else 0
        return PartState(self.part.name, pid, self.phase, self.restarts, self.reason)


class Supervisor:
    """Keeps the parts of one data folder alive."""

    def __init__(self, folder: Folder, wanted: tuple[Part, ...]) -> None:
        self._folder = folder
        self._parts = [_Running(part) for part in wanted]
        self._started = time.time()
        self._born = state.born(os.getpid())
        self._stop = asyncio.Event()
        self._ready = False
        self._failure = ""

    def request_stop(self) -> None:
        """Ask for the end of the stack."""
        self._stop.set()

    async def run(self) -> int:
        """Run until asked to stop; the exit code says whether it ever ran."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.request_stop)
        shutil.rmtree(self._folder.run, ignore_errors=True)
        self._folder.run.mkdir(mode=0o700)
        self._folder.logs.mkdir(mode=0o700, exist_ok=True)
        # a kubeconfig of the last run must not be taken for this one's
        self._folder.kubeconfig.unlink(missing_ok=True)
        self._publish()
        keepers = [asyncio.create_task(self._keep(running)) for running in self._parts]
        await self._stop.wait()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for running in reversed(self._parts):
            await _end(running.process)
        self._folder.kubeconfig.unlink(missing_ok=True)
        if self._failure:
            self._publish()
            return 1
        shutil.rmtree(self._folder.run, ignore_errors=True)
        return 0

    def _publish(self) -> None:
        seen = tuple(running.seen() for running in self._parts)
        state.write(self._folder, StackState(os.getpid(), self._started, self._born, seen, self._ready, self._failure))

    async def _keep(self, running: _Running) -> None:
        pause, failures = 0.0, 0
        first = self._parts[0]
        if running is not first:
            await self._until_serving()
        while True:
            began = time.monotonic()
            running.process = await self._launch(running.part)
            running.phase = "running"
            if running is first:
                await self._until_serving(running.process)
            self._ready = all(r.phase == "running" for r in self._parts) and self._folder.kubeconfig.exists()
            self._publish()
            code = await running.process.wait()
            lived = time.monotonic() - began
            running.reason = _ending(code)
            running.restarts += 1
            failures = 0 if lived >= _STEADY_SECONDS else failures + 1
            pause = next_pause(pause, lived)
            running.phase = "backoff"
            if failures >= _STARTS_BEFORE_GIVING_UP and not self._ready:
                log = tail(self._folder.logs / f"{running.part.name}.log", 3)
                self._failure = f"{running.part.name} {running.reason}; its log ends with:\n{log}"
                self._stop.set()
            self._publish()
            await asyncio.sleep(pause)

    async def _until_serving(self, process: Process | None = None) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._folder.kubeconfig.exists() and time.monotonic() < deadline:
            if process is not None and process.returncode is not None:
                return
            await asyncio.sleep(0.02)

    async def _launch(self, part: Part) -> Process:
        path = self._folder.logs / f"{part.name}.log"
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        with path.open("ab") as log:
            path.chmod(0o600)
            return await asyncio.create_subprocess_exec(
                *part.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                cwd=self._folder.root,
            )


def _die_with_parent() -> None:
    """A supervisor killed with SIGKILL takes its parts along: no process without a keeper."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    return f"was killed by {signal.Signals(-code).name}"


async def _end(process: Process | None) -> None:
    if process is None or process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def main() -> int:
    """Become the supervisor of a data folder."""
    parser = argparse.ArgumentParser(prog="rayward.stack.supervisor")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--api-only", action="store_true")
    parser.add_argument("node", nargs="*", help="flags of the node, after --")
    options = parser.parse_args()
    folder = Folder(options.data_dir)
    if state.take_lock(folder) is None:
        return 0
    wanted = parts(folder, port=options.port, node=None if options.api_only else options.node)
    return asyncio.run(_main(folder, wanted))


async def _main(folder: Folder, wanted: tuple[Part, ...]) -> int:
    return await Supervisor(folder, wanted).run()


if __name__ == "__main__":
    sys.exit(main())
