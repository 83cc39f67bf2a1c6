"""When a waiting workload is told what it waits for."""

from __future__ import annotations

import heapq

import pytest

from rayward.kube.core.objects import Condition
from rayward.quota.engine.cycle import Pend
from rayward.quota.engine.pendingmessages import AGAIN_SECONDS, BURST, SOON_SECONDS, TOLD_A_SECOND, PendingMessages

_FULL = Pend("n/w", "2 more are needed")
_FULLER = Pend("n/w", "3 more are needed")
_FOR_PODS = Pend("n/w", "pods are waited for", "Waiting")


def _condition(said: Pend) -> Condition:
    return Condition(type="QuotaReserved", status="False", reason=said.reason, message=said.message)


def _told() -> PendingMessages:
    messages = PendingMessages()
    messages.put(_FULL, 0.0)
    messages.told("n/w", SOON_SECONDS)
    return messages


def test_a_workload_is_told_a_moment_after_it_was_tried_first() -> None:
    messages = PendingMessages()
    messages.put(_FULL, 0.0)
    assert messages.next("n/w", None, 0.0) == SOON_SECONDS
    messages.put(_FULLER, SOON_SECONDS / 2)
    assert messages.next("n/w", None, SOON_SECONDS / 2) == SOON_SECONDS / 2
    assert messages.next("n/w", None, SOON_SECONDS) is _FULLER


def test_a_workload_that_was_admitted_meanwhile_is_told_nothing() -> None:
    messages = PendingMessages()
    messages.put(_FULL, 0.0)
    messages.drop("n/w")
    assert messages.next("n/w", None, SOON_SECONDS) is None


def test_what_a_workload_says_already_is_not_told_again() -> None:
    assert _told().next("n/w", _condition(_FULL), 2 * AGAIN_SECONDS) is None


def test_other_numbers_are_told_now_and_then() -> None:
    messages = _told()
    messages.put(_FULLER, 1.0)
    assert messages.next("n/w", _condition(_FULL), SOON_SECONDS + 1.0) == AGAIN_SECONDS - 1.0
    assert messages.next("n/w", _condition(_FULL), SOON_SECONDS + AGAIN_SECONDS) is _FULLER


def test_another_reason_is_told_at_once() -> None:
    messages = _told()
    messages.put(_FOR_PODS, 1.0)
    assert messages.next("n/w", _condition(_FULL), 1.0) is _FOR_PODS


def test_the_more_wait_the_less_often_each_is_told_other_numbers() -> None:
    messages = _told()
    for number in range(20 * BURST):
        messages.put(Pend(f"n/w{number}", "1 more is needed"), 0.0)
    messages.put(_FULLER, 1.0)
    due = messages.next("n/w", _condition(_FULL), SOON_SECONDS + AGAIN_SECONDS)
    assert due == pytest.approx((20 * BURST + 1) / TOLD_A_SECOND - AGAIN_SECONDS)


def test_all_who_wait_share_one_budget_of_first_messages() -> None:
    messages = PendingMessages()
    waiting = {f"n/w{number}": Pend(f"n/w{number}", "1 more is needed") for number in range(3 * BURST)}
    for pend in waiting.values():
        messages.put(pend, 0.0)

    def told(now: float) -> int:
        found = [messages.next(key, None, now) for key in waiting]
        assert all(isinstance(one, Pend) or (one is not None and one > 0) for one in found)
        return sum(isinstance(one, Pend) for one in found)

    assert told(SOON_SECONDS) == BURST
    assert told(SOON_SECONDS + 2.0) == 2 * TOLD_A_SECOND


@pytest.mark.parametrize("number", [BURST + 1, 6 * BURST, 20 * BURST])
def test_whoever_asks_again_when_told_to_gets_its_message_in_the_first_turn(number: int) -> None:
    messages = PendingMessages()
    waiting = [(SOON_SECONDS, f"n/w{one}") for one in range(number)]
    for _, key in waiting:
        messages.put(Pend(key, "1 more is needed"), 0.0)
    now = 0.0
    while waiting:
        now, key = heapq.heappop(waiting)
        found = messages.next(key, None, now)
        if isinstance(found, Pend):
            messages.told(key, now)
        else:
            assert found is not None
            heapq.heappush(waiting, (now + found, key))
    assert now <= SOON_SECONDS + number / TOLD_A_SECOND
