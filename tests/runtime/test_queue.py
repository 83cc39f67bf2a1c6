from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rayward.kube.runtime.backoff import Backoff
from rayward.kube.runtime.queue import HIGH, LOW, WorkQueue


def drain(queue: WorkQueue[str], now: float) -> list[str]:
    """Everything that is ready, each key worked on for no time at all."""
    order: list[str] = []
    while (key := queue.pop(now)) is not None:
        order.append(key)
        queue.done(key, now)
    return order


def test_keys_come_out_in_the_order_they_came_in() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "bac":
        queue.add(key, 0.0)
    assert drain(queue, 0.0) == ["b", "a", "c"]


def test_a_key_that_waits_is_not_queued_twice() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0)
    queue.add("b", 0.0)
    queue.add("a", 0.0)
    assert len(queue) == 2
    assert drain(queue, 0.0) == ["a", "b"]


def test_higher_priorities_come_first() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("first list", 0.0, priority=LOW)
    queue.add("edit", 0.0)
    queue.add("urgent", 0.0, priority=10)
    assert drain(queue, 0.0) == ["urgent", "edit", "first list"]


def test_a_key_keeps_the_highest_priority_it_was_added_with() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0)
    queue.add("b", 0.0)
    queue.add("b", 0.0, priority=5)
    queue.add("b", 0.0, priority=1)
    assert drain(queue, 0.0) == ["b", "a"]


def test_a_key_that_is_worked_on_is_given_to_nobody_else_and_runs_again_if_it_was_added() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0)
    assert queue.pop(0.0) == "a"
    queue.add("a", 0.0)
    assert queue.pop(0.0) is None
    assert queue.ready_in(0.0) is None
    queue.done("a", 0.0)
    assert queue.pop(0.0) == "a"
    queue.done("a", 0.0)
    assert queue.pop(0.0) is None


def test_a_key_that_is_postponed_keeps_its_priority_and_runs_no_earlier() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("nearly done", 0.0, priority=HIGH)
    queue.add("new", 0.0, after=5.0)
    assert queue.pop(0.0) == "nearly done"
    queue.postpone("nearly done", 0.0, 5.0)
    assert (queue.pop(4.0), queue.ready_in(4.0)) == (None, 1.0)
    assert drain(queue, 5.0) == ["nearly done", "new"]


def test_delays() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("late", 0.0, after=5.0)
    queue.add("early", 0.0, after=2.0)
    assert (queue.pop(1.0), queue.ready_in(1.0)) == (None, 1.0)
    assert drain(queue, 2.0) == ["early"]
    assert drain(queue, 5.0) == ["late"]
    assert queue.ready_in(5.0) is None


def test_the_earliest_time_counts() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0, after=5.0)
    queue.add("a", 0.0, after=9.0)
    assert queue.ready_in(0.0) == 5.0
    queue.add("a", 1.0)
    assert drain(queue, 1.0) == ["a"]
    assert drain(queue, 100.0) == [], "one run serves all who asked"


def test_failures_wait_longer_each_time_until_one_run_does_well() -> None:
    queue: WorkQueue[str] = WorkQueue(Backoff(1.0, 5.0))
    assert [queue.retry("a", 0.0) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    queue.forget("a")
    assert queue.retry("a", 0.0) == 1.0
    assert [queue.retry("b", 0.0, chance=chance) for chance in (0.0, 0.99)] == [0.5, pytest.approx(2.98)]


class _Observer:
    def __init__(self) -> None:
        self.noted: list[object] = []

    def added(self) -> None:
        self.noted.append("added")

    def started(self, waited: float) -> None:
        self.noted.append(("started", waited))

    def finished(self, worked: float) -> None:
        self.noted.append(("finished", worked))

    def retried(self) -> None:
        self.noted.append("retried")


def test_an_observer_is_told_how_long_keys_wait_and_take() -> None:
    observer = _Observer()
    queue: WorkQueue[str] = WorkQueue(observer=observer)
    queue.add("a", 0.0, after=2.0)
    queue.add("a", 0.0)
    queue.pop(3.0)
    queue.retry("a", 4.0)
    queue.done("a", 5.0)
    assert observer.noted == ["added", ("started", 3.0), "retried", "added", ("finished", 2.0)]


class Working(RuleBasedStateMachine):
    """Against a model that remembers, per key, the earliest time somebody still waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.queue: WorkQueue[str] = WorkQueue(Backoff(0.5, 8.0))
        self.wanted: dict[str, tuple[float, int]] = {}
        self.running: set[str] = set()

    @rule(key=st.sampled_from("abcd"), after=st.sampled_from([0.0, 0.0, 1.0, 3.0, 10.0]), priority=st.integers(-1, 1))
    def add(self, key: str, after: float, priority: int) -> None:
        self.queue.add(key, self.now, after=after, priority=priority)
        self._want(key, after, priority)

    @rule(key=st.sampled_from("abcd"), chance=st.sampled_from([0.0, 0.5, 0.9]))
    def retry(self, key: str, chance: float) -> None:
        self._want(key, self.queue.retry(key, self.now, chance=chance), 0)

    @rule(key=st.sampled_from("abcd"))
    def forget(self, key: str) -> None:
        self.queue.forget(key)

    @rule()
    def work(self) -> None:
        key = self.queue.pop(self.now)
        ready = {
            waiting: priority
            for waiting, (at, priority) in self.wanted.items()
            if at <= self.now and waiting not in self.running
        }
        if key is None:
            assert not ready, "a key that is ready was not handed out"
            return
        assert key not in self.running, "two workers on one key"
        assert key in ready, "a key came before its time, or unasked"
        assert ready[key] == max(ready.values()), "a key of lower priority came first"
        del self.wanted[key]
        self.running.add(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(key)
        self.queue.done(key, self.now)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def the_queue_knows_when_to_look_again(self) -> None:
        times = [at for key, (at, _) in self.wanted.items() if key not in self.running]
        expected = None if not times else max(min(times) - self.now, 0.0)
        assert self.queue.ready_in(self.now) == expected
        assert len(self.queue) == len(self.wanted)
        assert self.queue.running == len(self.running)

    def teardown(self) -> None:
        for key in sorted(self.running):
            self.queue.done(key, self.now)
        assert sorted(drain(self.queue, self.now + 1000)) == sorted(self.wanted), "a key was lost"

    def _want(self, key: str, after: float, priority: int) -> None:
        at, before = self.wanted.get(key, (float("inf"), priority))
        self.wanted[key] = (min(at, self.now + after), max(before, priority))


TestWorking = Working.TestCase
TestWorking.settings = settings(max_examples=300, stateful_step_count=40)
