from __future__ import annotations

import pytest

from rayward.kube.client.errors import ApiError, from_status
from rayward.kube.runtime.reflectorstate import Outcome, ReflectorState, Step, onward, start
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut


def refusal(code: int, retry_after: float | None = None, reason: str = "", cause: str = "") -> ApiError:
    return from_status({"reason": reason, "details": {"causes": [{"reason": cause}]}}, code, retry_after)


LISTING, STREAMING = ReflectorState(Step.LIST), ReflectorState(Step.STREAM, Step.STREAM)
WATCHING = ReflectorState(Step.WATCH)
TOO_LARGE = refusal(504, cause="ResourceVersionTooLarge")


def test_the_first_step() -> None:
    assert (start(can_stream=False), start(can_stream=True)) == (LISTING, STREAMING)


@pytest.mark.parametrize(
    ("state", "outcome", "step", "wait"),
    [
        pytest.param(LISTING, Outcome(), Step.WATCH, 0.0, id="listed"),
        pytest.param(LISTING, Outcome(ConnectFailed("")), Step.LIST, 0.8, id="list failed"),
        pytest.param(LISTING, Outcome(refusal(403)), Step.LIST, 0.8, id="list forbidden"),
        pytest.param(LISTING, Outcome(refusal(429, 5.0)), Step.LIST, 5.0, id="list told to wait"),
        pytest.param(LISTING, Outcome(refusal(429, 500.0)), Step.LIST, 30.0, id="list told to wait too long"),
        pytest.param(WATCHING, Outcome(), Step.WATCH, 0.0, id="watch ended in time"),
        pytest.param(WATCHING, Outcome(lively=False), Step.WATCH, 0.8, id="watch ended at once"),
        pytest.param(WATCHING, Outcome(TimedOut("")), Step.WATCH, 0.0, id="watch silent"),
        pytest.param(WATCHING, Outcome(ConnectionLost("")), Step.WATCH, 0.8, id="watch lost"),
        pytest.param(WATCHING, Outcome(ConnectFailed(""), lively=False), Step.WATCH, 0.8, id="watch not connected"),
        pytest.param(WATCHING, Outcome(ProtocolError("")), Step.WATCH, 0.8, id="watch garbled"),
        pytest.param(WATCHING, Outcome(refusal(410)), Step.LIST, 0.8, id="watch gone"),
        pytest.param(WATCHING, Outcome(refusal(410, reason="Expired")), Step.LIST, 0.8, id="watch expired"),
        pytest.param(WATCHING, Outcome(TOO_LARGE), Step.LIST, 0.8, id="version of the future"),
        pytest.param(WATCHING, Outcome(refusal(504)), Step.WATCH, 0.8, id="watch, server timed out"),
        pytest.param(WATCHING, Outcome(refusal(429, 2.0)), Step.WATCH, 2.0, id="watch told to wait"),
        pytest.param(WATCHING, Outcome(refusal(500)), Step.WATCH, 0.8, id="watch, server failed"),
        pytest.param(WATCHING, Outcome(refusal(503)), Step.WATCH, 0.8, id="watch, server unavailable"),
        pytest.param(WATCHING, Outcome(refusal(403)), Step.LIST, 0.8, id="watch forbidden"),
        pytest.param(WATCHING, Outcome(refusal(404)), Step.LIST, 0.8, id="kind removed"),
        pytest.param(STREAMING, Outcome(), Step.WATCH, 0.0, id="streamed"),
        pytest.param(STREAMING, Outcome(refusal(422)), Step.LIST, 0.8, id="stream refused"),
        pytest.param(STREAMING, Outcome(refusal(400)), Step.LIST, 0.8, id="stream not understood"),
        pytest.param(STREAMING, Outcome(ConnectionLost("")), Step.STREAM, 0.8, id="stream lost"),
        pytest.param(STREAMING, Outcome(ProtocolError("")), Step.STREAM, 0.8, id="stream without an end, once"),
        pytest.param(
            ReflectorState(Step.STREAM, Step.STREAM, 2),
            Outcome(TimedOut("")),
            Step.LIST,
            3.2,
            id="no end, thrice",
        ),
        pytest.param(
            ReflectorState(Step.STREAM, Step.STREAM, 9),
            Outcome(ConnectFailed("")),
            Step.STREAM,
            30.0,
            id="nobody",
        ),
        pytest.param(
            ReflectorState(Step.WATCH, Step.STREAM),
            Outcome(refusal(410)),
            Step.STREAM,
            0.8,
            id="expired after streams",
        ),
    ],
)
def test_what_comes_next(state: ReflectorState, outcome: Outcome, step: Step, wait: float) -> None:
    following, seconds = onward(state, outcome, 0.5)
    assert (following.step, seconds) == (step, wait)


def test_only_a_lively_watch_ends_a_row_of_failures() -> None:
    state = ReflectorState(Step.LIST, failures=4)
    state, _ = onward(state, Outcome(), 0.5)
    assert state.failures == 4
    state, wait = onward(state, Outcome(refusal(403), lively=False), 0.5)
    assert (state.failures, wait) == (5, 12.8)
    state, _ = onward(state, Outcome(), 0.5)
    state, _ = onward(state, Outcome(), 0.5)
    assert state.failures == 0


@pytest.mark.parametrize("error", [ConnectionLost(""), refusal(410)], ids=["lost", "expired"])
def test_a_watch_that_worked_fails_for_the_first_time(error: ApiError | NetworkError) -> None:
    following, wait = onward(ReflectorState(Step.WATCH, failures=6), Outcome(error, lively=True), 0.5)
    assert (following.failures, wait) == (1, 0.8)
