from __future__ import annotations

import pytest

from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS, SERVICES
from rayward.kube.core.service import Service
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.writes import Writes
from tests.runtime.objects import pod

WRITER, OTHER = Key("a", "cluster"), Key("a", "other")


class Fixture:
    def __init__(self) -> None:
        self.pods = Cache(PODS, Pod)
        self.services = Cache(SERVICES, Service)
        self.released: list[Key] = []
        self.writes = Writes(self.released.append)
        self.pods.replace([], "10")
        self.services.replace([], "10")

    def wrote(self, version: int, writer: Key = WRITER) -> None:
        self.writes.wrote(writer, self.pods, pod("p", version)[0], 0.0)


@pytest.fixture
def it() -> Fixture:
    return Fixture()


def test_who_wrote_nothing_does_not_wait(it: Fixture) -> None:
    assert it.writes.waits(WRITER, 0.0) is None


def test_a_key_waits_until_the_cache_has_reached_its_write(it: Fixture) -> None:
    it.wrote(12)
    assert it.writes.waits(WRITER, 5.0) == 25.0
    it.pods.advance("11")
    assert it.writes.waits(WRITER, 5.0) is not None
    assert it.released == []
    it.pods.advance("12")
    assert it.writes.waits(WRITER, 5.0) is None
    assert it.released == [WRITER]


def test_the_watch_may_be_faster_than_the_answer(it: Fixture) -> None:
    it.pods.advance("12")
    it.wrote(12)
    assert it.writes.waits(WRITER, 0.0) is None


def test_a_change_that_brings_the_version_is_in_the_cache_before_the_key_is_released(it: Fixture) -> None:
    held: list[int] = []
    writes = Writes(lambda key: held.append(len(it.pods)))
    writes.wrote(WRITER, it.pods, pod("p", 12)[0], 0.0)
    it.pods.put(*pod("p", 12))
    it.pods.advance("12")
    assert held == [1]


def test_several_writes_to_several_collections(it: Fixture) -> None:
    it.wrote(12)
    it.wrote(15)
    it.wrote(13)
    it.writes.wrote(WRITER, it.services, pod("s", 14)[0], 0.0)
    it.pods.advance("14")
    assert it.writes.waits(WRITER, 0.0) is not None
    it.pods.advance("15")
    assert it.writes.waits(WRITER, 0.0) is not None, "the service is not there yet"
    it.services.advance("14")
    assert it.writes.waits(WRITER, 0.0) is None
    assert it.released == [WRITER]


def test_one_does_not_wait_for_another(it: Fixture) -> None:
    it.wrote(12)
    it.wrote(20, OTHER)
    it.pods.advance("12")
    assert it.released == [WRITER]
    assert it.writes.waits(OTHER, 0.0) is not None


def test_a_write_that_never_shows_is_waited_for_only_so_long(it: Fixture) -> None:
    it.wrote(12)
    assert it.writes.waits(WRITER, 29.0) == 1.0
    assert it.writes.waits(WRITER, 30.0) is None
    it.pods.advance("12")
    assert it.released == [], "it was let go already"


@pytest.mark.parametrize("version", ["", "opaque"])
def test_an_answer_without_a_number_is_not_waited_for(it: Fixture, version: str) -> None:
    answer, _ = pod("p", 1, resourceVersion=version)
    it.writes.wrote(WRITER, it.pods, answer, 0.0)
    assert it.writes.waits(WRITER, 0.0) is None
