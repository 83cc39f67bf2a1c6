from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.client import verbs
from rayward.kube.client.credentials import NoCredentials
from rayward.kube.client.errors import ApiError, from_status
from rayward.kube.client.request import Request
from rayward.kube.client.retry import SOMETIMES, RetryPolicy, wait_before_retry
from rayward.kube.core.resource import PODS
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, ProtocolError, TimedOut

READ = verbs.get(PODS, "p", "a")
WRITE = verbs.create(PODS, {"metadata": {"namespace": "a"}})


def refusal(code: int, retry_after: float | None = None, **details: Any) -> ApiError:
    return from_status({"code": code, "details": details}, code, retry_after)


@pytest.mark.parametrize(
    ("request_", "failure", "again"),
    [
        pytest.param(READ, ConnectFailed("x"), True, id="read, not connected"),
        pytest.param(WRITE, ConnectFailed("x"), True, id="write, not connected: the server never saw it"),
        pytest.param(READ, ConnectionLost("x"), True, id="read, lost"),
        pytest.param(WRITE, ConnectionLost("x"), False, id="write, lost: the server may have done it"),
        pytest.param(READ, TimedOut("x"), True, id="read, timed out"),
        pytest.param(WRITE, TimedOut("x"), False, id="write, timed out"),
        pytest.param(READ, ProtocolError("x"), False, id="not HTTP"),
        pytest.param(READ, NoCredentials("x"), False, id="no credentials: the user must mend that"),
        pytest.param(WRITE, refusal(429), True, id="write, 429: the server did not do it"),
        pytest.param(
            WRITE, refusal(429, causes=[{"reason": "DisruptionBudget"}]), False, id="eviction against a budget"
        ),
        pytest.param(READ, refusal(500), True, id="read, 500"),
        pytest.param(WRITE, refusal(500), False, id="write, 500"),
        pytest.param(WRITE, refusal(500, 1.0), True, id="write, 500 that asks for it"),
        pytest.param(READ, refusal(503), True, id="read, 503"),
        pytest.param(READ, refusal(504, causes=[{"reason": "ResourceVersionTooLarge"}]), False, id="future version"),
        pytest.param(READ, refusal(404), False, id="not found"),
        pytest.param(WRITE, refusal(409), False, id="conflict"),
        pytest.param(READ, refusal(401), False, id="unauthorized"),
        pytest.param(READ, refusal(410), False, id="gone"),
    ],
)
def test_what_is_sent_again(request_: Request, failure: ApiError | NetworkError, again: bool) -> None:
    assert (wait_before_retry(SOMETIMES, 1, request_, failure, 0.5) is not None) is again
    assert wait_before_retry(RetryPolicy(attempts=1), 1, request_, failure, 0.5) is None


def test_waits_double_up_to_a_longest_and_then_end() -> None:
    waits = [wait_before_retry(SOMETIMES, attempt, READ, refusal(503), 0.5) for attempt in range(1, 7)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, None]


@pytest.mark.parametrize(("asked", "waits"), [(3.0, 3.0), (60.0, 60.0), (61.0, None)], ids=str)
def test_a_server_that_asks_to_wait_is_heard_within_reason(asked: float, waits: float | None) -> None:
    assert wait_before_retry(SOMETIMES, 1, WRITE, refusal(429, asked), 0.5) == waits


@given(attempt=st.integers(1, 20), chance=st.floats(0, 1, exclude_max=True), code=st.sampled_from([429, 500, 503]))
def test_waits_are_spread_and_bounded(attempt: int, chance: float, code: int) -> None:
    wait = wait_before_retry(SOMETIMES, attempt, READ, refusal(code), chance)
    assert wait is None or 0.05 <= wait <= SOMETIMES.longest_seconds * 1.5
