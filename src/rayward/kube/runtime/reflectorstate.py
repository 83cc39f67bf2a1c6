"""What a reflector does next, after how its last step ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from rayward.kube.client.errors import (
    ApiError,
    BadRequest,
    InternalError,
    Invalid,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from rayward.kube.runtime.backoff import Backoff
from rayward.net.errors import NetworkError, ProtocolError, TimedOut

BACKOFF: Final = Backoff(0.8, 30.0)
_STREAM_FAILURES: Final = 3


class Step(Enum):
    """The three things a reflector does."""

    LIST = auto()
    """Read the collection in pages."""
    STREAM = auto()
    """Read the collection from a watch that begins with what is there (WatchList)."""
    WATCH = auto()
    """Follow the collection from the last version seen."""


@dataclass(frozen=True, slots=True)
class ReflectorState:
    """Where a reflector is."""

    step: Step
    listing: Step = Step.LIST
    """How it lists: LIST, or STREAM as long as the server can do that."""
    failures: int = 0
    """In a row."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended; without an error it did what it should."""

    error: ApiError | NetworkError | None = None
    lively: bool = True
    """Whether a watch said anything, or held for more than a moment."""


def start(can_stream: bool) -> ReflectorState:
    listing = Step.STREAM if can_stream else Step.LIST
    return ReflectorState(listing, listing)


def onward(state: ReflectorState, outcome: Outcome, chance: float) -> tuple[ReflectorState, float]:
    """The next step, and the seconds to wait before it.

    A list alone does not end a row of failures: a server that lists but cannot be watched must not be listed for ever.
    """
    error = outcome.error
    if error is None and state.step is not Step.WATCH:
        return ReflectorState(Step.WATCH, state.listing, state.failures), 0.0
    if outcome.lively and state.step is Step.WATCH and (error is None or isinstance(error, TimedOut)):
        return ReflectorState(Step.WATCH, state.listing), 0.0
    failures = 1 if outcome.lively and state.step is Step.WATCH else state.failures + 1
    wait = BACKOFF.after(failures, chance)
    if isinstance(error, ApiError) and error.retry_after is not None:
        wait = max(wait, min(error.retry_after, BACKOFF.longest))
    listing = _listing(state, error, failures)
    step = Step.WATCH if state.step is Step.WATCH and _still_good(error) else listing
    return ReflectorState(step, listing, failures), wait


def _listing(state: ReflectorState, error: ApiError | NetworkError | None, failures: int) -> Step:
    if state.step is not Step.STREAM:
        return state.listing
    # Refused, or accepted by an old server that never says where the initial events end.
    unending = isinstance(error, ProtocolError | TimedOut) and failures >= _STREAM_FAILURES
    unable = isinstance(error, Invalid | BadRequest) or unending
    return Step.LIST if unable else Step.STREAM


def _still_good(error: ApiError | NetworkError | None) -> bool:
    """Whether the version that the watch was at can still be followed, as far as ``error`` tells."""
    if isinstance(error, Timeout):
        return not error.version_too_large
    return not isinstance(error, ApiError) or isinstance(
        error, TooManyRequests | InternalError | ServerTimeout | ServiceUnavailable
    )
