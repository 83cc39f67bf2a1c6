from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime import memory
from rayward.kube.runtime.cache import Cache
from tests.runtime.objects import owned, pod


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.enable()


def test_the_collector_rests_inside_the_block_only() -> None:
    with memory.paused():
        assert not gc.isenabled()
        with memory.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_blocks_may_overlap() -> None:
    first, second = memory.paused(), memory.paused()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_collector_that_somebody_switched_off_stays_off() -> None:
    gc.disable()
    with memory.paused():
        pass
    assert not gc.isenabled()


def test_frozen_objects_are_never_looked_at_again() -> None:
    memory.tune()
    assert gc.get_threshold() == (50_000, 20, 100)
    memory.freeze()
    assert gc.get_freeze_count() > 1000


def test_cached_objects_cost_the_collector_next_to_nothing() -> None:
    cache = Cache(PODS, Pod)
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1000):
        cache.put(*pod(f"p{number}", number, labels={"a": "b"}, ownerReferences=owned("u")))
    gc.collect()
    assert (len(gc.get_objects()) - before) / 1000 < 3
