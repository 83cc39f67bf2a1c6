"""What every test may use."""

from __future__ import annotations

import asyncio
import functools
import gc
import signal
import sys
import warnings
from collections.abc import Awaitable, Callable, Generator
from inspect import iscoroutinefunction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rayward.net.loop import Loop

# how long an example takes says how busy the machine is
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

COLLECTED = pytest.StashKey[list[tuple[Path, frozenset[str]]]]()
"""The file and the marks of every test that this run found."""
_PATIENCE = 0.8  # of the time after which the process is told
_SHOWN, _LINES = 5, 12  # tests of each outcome and lines of each, at the end of a run


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("asyncio", {"loop_factory": Loop})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what was collected, before any of it is left out by its marks."""
    config.stash[COLLECTED] = [(item.path, frozenset(mark.name for mark in item.iter_markers())) for item in items]


def pytest_configure() -> None:
    """Let programs that tests start be interrupted: whatever a shell starts in the background ignores that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give tests that are coroutines a limit from inside the loop, which shows where they wait.

    What the timeout of the process raises in its signal handler is lost in uvloop.
    """
    if isinstance(item, pytest.Function) and iscoroutinefunction(item.obj) and not hasattr(item.obj, "hypothesis"):
        mark = item.get_closest_marker("timeout")
        seconds = float(mark.args[0] if mark is not None else item.config.getini("timeout"))
        item.obj = _limited(item.obj, seconds * _PATIENCE)


def _limited(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def limited(*args: object, **kwargs: object) -> None:
        async with asyncio.timeout(seconds):
            await test(*args, **kwargs)

    return limited


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let go of what the test before held when it failed: found later, a socket left open fails whatever runs then."""
    _forget_failure()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """The same for the last one."""
    _forget_failure()


def _forget_failure() -> None:
    # pytest keeps the last exception for debuggers, and with it every frame on its way
    kept = [name for name in ("last_type", "last_value", "last_traceback", "last_exc") if hasattr(sys, name)]
    if kept:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in kept:
                delattr(sys, name)
            gc.collect()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None]:
    """Show last why tests failed, also those that passed at a second try: of a long log, its end is what is kept.

    What passes at a second try is still a fault, of ours or of the test.
    """
    yield
    for outcome in ("rerun", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, [])[:_SHOWN]:
            terminalreporter.write_sep("_", f"{outcome}: {report.nodeid} ({report.when})")
            terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-_LINES:]))
