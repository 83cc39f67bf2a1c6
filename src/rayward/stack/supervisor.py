"""The supervisor: starts the parts, restarts one that ends, and stops all of them when it is asked to stop.

Killed, it ends nothing: the parts go on serving without it, and the next supervisor of the folder adopts them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import Process
from dataclasses import dataclass
from pathlib import Path

import click
from msgspec.structs import replace

from rayward.stack import leftovers, process, settings, state
from rayward.stack.folder import Folder
from rayward.stack.part import Part, parts
from rayward.stack.process import Adopted
from rayward.stack.settings import Settings
from rayward.stack.state import PartState, StackState, tail

_LONGEST_PAUSE = 10.0
_STEADY_SECONDS = 60.0
_GRACE_SECONDS = 15.0
_STARTS_BEFORE_GIVING_UP = 3
_LOG_LIMIT = 10 << 20
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_POLL = 0.02

_log = logging.getLogger(__name__)


def next_pause(previous: float, lived: float) -> float:
    """How long to wait before a part is started again: longer each time, unless it ran well for a while."""
    return 0.0 if lived >= _STEADY_SECONDS else min(max(previous * 2, 0.25), _LONGEST_PAUSE)


def ending(code: int) -> str:
    """How a process ended, in words."""
    return f"exited with code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"


@dataclass(slots=True)
class _Running:
    part: Part
    process: Process | Adopted | None = None
    phase: str = "starting"
    restarts: int = 0
    reason: str = ""
    words: str = ""
    ended: float = 0.0
    born: str = ""

    @property
    def settled(self) -> bool:
        """Whether waiting for it makes no sense any more."""
        return self.part.spare or self.phase == "running" or (self.phase == "failing" and not self.part.essential)

    def seen(self) -> PartState:
        pid = self.process.pid if self.process is not None and self.process.returncode is None else 0
        fate = (self.restarts, self.reason, self.words, self.ended)
        return PartState(self.part.name, pid, self.phase, *fate, self.born if pid else "")


class Supervisor:
    """Keeps the parts of one data folder alive."""

    def __init__(self, folder: Folder, wanted: tuple[Part, ...], chosen: Settings | None = None) -> None:
        self._folder = folder
        self._settings = chosen
        self._parts = [_Running(part) for part in wanted]
        self._started = time.time()
        self._born = process.born(os.getpid())
        self._stop = asyncio.Event()
        self._ran = False
        self._failure = ""

    def request_stop(self) -> None:
        """Ask for the end of the stack."""
        self._stop.set()

    async def run(self) -> int:
        """Run until asked to stop; the exit code says whether it ever ran."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.request_stop)
        await asyncio.to_thread(self._adopt, state.read(self._folder))
        # A start without pods says nothing about how they are to run the next time.
        if self._settings is not None and self._settings.node is not None:
            settings.write(self._folder.settings, self._settings)
        self._folder.logs.mkdir(mode=0o700, exist_ok=True)
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

    def _adopt(self, before: StackState | None) -> None:
        """Go on with the parts that a killed supervisor left running; end those that are not wanted."""
        alive = {part.name: part for part in state.alive_parts(before.parts if before is not None else ())}
        found = [running for running in self._parts if running.part.name in alive]
        for running in found:
            known = alive.pop(running.part.name)
            running.process, running.born = Adopted(known.pid, known.born), known.born
            running.restarts, running.reason, running.words = known.restarts, known.reason, known.words
            running.ended = known.ended
            _log.info("adopted %s (process %d)", known.name, known.pid)
        if before is not None:
            leftovers.end_parts(replace(before, parts=tuple(alive.values())), _GRACE_SECONDS)
        if not found:
            shutil.rmtree(self._folder.run, ignore_errors=True)
            self._folder.run.mkdir(mode=0o700)

    def _publish(self) -> None:
        seen = tuple(running.seen() for running in self._parts)
        ready = all(running.settled for running in self._parts)
        self._ran = self._ran or ready
        now = StackState(os.getpid(), self._started, self._born, seen, ready, self._failure, self._settings)
        state.write(self._folder, now)

    async def _keep(self, running: _Running) -> None:
        pause, failures = 0.0, 0
        while True:
            if running is not self._parts[0]:
                await _until_there(self._folder.kubeconfig)
            if running.part.spare:
                await self._until_others_run()
            began = time.monotonic()
            if running.process is None:
                running.process = launched = await self._launch(running.part)
                running.phase, running.born = "starting", process.born(launched.pid)
                self._publish()
                _let_go(launched)
            started = running.process
            code = await self._outlive(running, started)
            running.process = None
            lived = time.monotonic() - began
            failures = 0 if lived >= _STEADY_SECONDS else failures + 1
            pause = next_pause(pause, lived)
            self._note_end(running, "ended" if isinstance(started, Adopted) else ending(code), pause)
            running.phase = "failing" if failures >= _STARTS_BEFORE_GIVING_UP else "backoff"
            if running.phase == "failing" and running.part.essential and not self._ran:
                words = tail(self._folder.logs / f"{running.part.name}.log", 3)
                self._failure = f"{running.part.name} {running.reason}; its log ends with:\n{words}"
                self._stop.set()
            self._publish()
            await asyncio.sleep(pause)

    async def _until_others_run(self) -> None:
        while not all(running.settled for running in self._parts):  # noqa: ASYNC110 - each says it in its own time
            await asyncio.sleep(_POLL)

    async def _outlive(self, running: _Running, started: Process | Adopted) -> int:
        """Say when a part is ready; returns how it ended."""
        getting_ready = asyncio.create_task(self._until_ready(running))
        try:
            return await started.wait()
        finally:
            getting_ready.cancel()

    async def _until_ready(self, running: _Running) -> None:
        if running.part.ready is not None:
            await _until_there(running.part.ready)
        running.phase = "running"
        if running.restarts:
            _log.info("%s runs again", running.part.name)
        self._publish()

    def _note_end(self, running: _Running, how: str, pause: float) -> None:
        name = running.part.name
        running.reason, running.ended = how, time.time()
        running.words = tail(self._folder.logs / f"{name}.log", 1)
        running.restarts += 1
        _log.warning("%s %s; restarting it in %.2f s; last log line: %s", name, running.reason, pause, running.words)

    async def _launch(self, part: Part) -> Process:
        if part.ready is not None:
            # one of the last run must not be taken for this one's
            part.ready.unlink(missing_ok=True)
        path = self._folder.logs / f"{part.name}.log"
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        with path.open("ab") as log:
            path.chmod(0o600)
            return await asyncio.create_subprocess_exec(
                *held_back(part.command),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._folder.root,
            )


async def _until_there(path: Path) -> None:
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
        await asyncio.sleep(_POLL)


_HELD_BACK = """
import os, sys
if os.read(0, 1):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp(sys.argv[1], sys.argv[1:])
"""


def held_back(command: tuple[str, ...]) -> tuple[str, ...]:
    """A command that starts only when told to on its standard input, and never if whoever would tell it is gone.

    So every part that runs is in the published state, where the next supervisor finds it.
    """
    return (sys.executable, "-I", "-S", "-c", _HELD_BACK, *command)


def _let_go(launched: Process) -> None:
    assert launched.stdin is not None
    launched.stdin.write(b".")
    launched.stdin.close()


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)


async def _end(started: Process | Adopted | None) -> None:
    if started is None or started.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        started.terminate()
    try:
        await asyncio.wait_for(started.wait(), _GRACE_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            started.kill()
        await started.wait()


@click.command("rayward.stack.supervisor")
@click.option("--data-dir", type=click.Path(path_type=Path), required=True)
@click.option("--port", type=int, default=0)
@click.option("--api-only", is_flag=True)
@click.option("--operator", is_flag=True)
@click.option("--keeper", type=int, help="Process in the foreground whose end is the stack's end.")
@click.argument("node", nargs=-1, type=click.UNPROCESSED)
def main(data_dir: Path, port: int, api_only: bool, operator: bool, keeper: int | None, node: tuple[str, ...]) -> None:
    """Become the supervisor of a data folder; NODE are the node's own flags, after ``--``."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if keeper is not None:
        _die_with_parent()
        if os.getppid() != keeper:
            return
    folder = Folder(data_dir)
    if state.take_lock(folder) is None:
        return
    chosen = Settings(None if api_only else node, operator)
    before = state.read(folder)
    if before is not None and before.settings is not None and state.alive_parts(before.parts):
        # what runs was started with these, and goes on; `rayward up` says where others were asked for
        chosen = before.settings
    wanted = parts(folder, port=port, node=chosen.node, operator=chosen.operator)
    sys.exit(asyncio.run(_main(folder, wanted, chosen)))


async def _main(folder: Folder, wanted: tuple[Part, ...], chosen: Settings) -> int:
    return await Supervisor(folder, wanted, chosen).run()


if __name__ == "__main__":
    main()
