"""The event loop that every process of ours runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

_Answer = TypeVar("_Answer")


class Loop(uvloop.Loop):
    """uvloop without one alarm that is false.

    A connection may be cancelled after TCP and before the task that asked for it was woken. uvloop closes its socket
    then, and where the peer has answered meanwhile, tries to write the end of the TLS handshake to it. Nobody waits
    for that connection, and it is closed: there is nothing to report.
    """

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report what went wrong where nobody waits for it."""
        if not _is_handshake_of_closed(context):
            super().call_exception_handler(context)


def _is_handshake_of_closed(context: dict[str, Any]) -> bool:
    error = context.get("exception")
    return (
        context.get("message") == "Fatal error on SSL protocol"
        and isinstance(error, RuntimeError)
        and str(error).endswith("the handler is closed")
    )


def run_loop(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run ``work`` in a loop of its own to its end."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


__all__ = ["Loop", "run_loop"]
