from __future__ import annotations

import logging

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache, by_label, by_owner
from tests.runtime.objects import owned, pod, whole


class Told:
    """All that a listener was told, by name and version."""

    def __init__(self, cache: Cache[Pod]) -> None:
        self.changes: list[tuple[str | None, str | None]] = []
        cache.subscribe(lambda old, new: self.changes.append((_label(old), _label(new))))


def _label(found: Pod | None) -> str | None:
    return None if found is None else f"{found.metadata.name}@{found.metadata.resource_version}"


@pytest.fixture
def cache() -> Cache[Pod]:
    return Cache(PODS, Pod, indexes={"owner": by_owner, "cluster": by_label("ray.io/cluster")})


def test_an_object_is_slim_raw_and_whole(cache: Cache[Pod]) -> None:
    slim, raw = pod("p", 3)
    cache.put(slim, raw)
    key = Key("a", "p")
    assert cache.get(key) is slim
    assert cache.raw(key) == raw
    assert cache.whole(key) == {**whole("p", 3), "apiVersion": "v1", "kind": "Pod"}
    assert cache.whole(key) is not cache.whole(key), "the caller may change it"
    assert key in cache
    assert len(cache) == 1


def test_what_is_not_there(cache: Cache[Pod]) -> None:
    key = Key("a", "p")
    assert (cache.get(key), cache.raw(key), cache.whole(key)) == (None, None, None)
    cache.remove(key)


def test_raw_objects_may_be_left_out() -> None:
    cache = Cache(PODS, Pod, keep_raw=False)
    slim, raw = pod("p", 3)
    assert cache.kept(msgspec.Raw(raw)) == b""
    cache.put(slim, cache.kept(msgspec.Raw(raw)))
    assert cache.get(slim.key) is slim
    assert cache.raw(slim.key) is None


def test_listeners_hear_of_every_change_once(cache: Cache[Pod]) -> None:
    told = Told(cache)
    cache.put(*pod("p", 3))
    cache.put(*pod("p", 3))
    cache.put(*pod("p", 4))
    last, _ = pod("p", 5)
    cache.remove(last.key, last)
    cache.remove(last.key)
    assert told.changes == [(None, "p@3"), ("p@3", "p@4"), ("p@5", None)]


def test_a_late_listener_hears_of_what_is_there(cache: Cache[Pod]) -> None:
    cache.put(*pod("p", 3))
    assert Told(cache).changes == [(None, "p@3")]


def test_a_namesake_is_another_object(cache: Cache[Pod]) -> None:
    told = Told(cache)
    cache.put(*pod("p", 3, uid="one"))
    cache.put(*pod("p", 4, uid="two"))
    assert told.changes == [(None, "p@3"), ("p@3", None), (None, "p@4")]


def test_a_new_list_replaces_all(cache: Cache[Pod]) -> None:
    for name, version in [("same", 1), ("changed", 2), ("gone", 3), ("odd", 4)]:
        cache.put(*pod(name, version))
    told = Told(cache)
    told.changes.clear()
    cache.replace([pod("same", 1), pod("changed", 9), pod("new", 8)], "10", keep=[Key("a", "odd")])
    assert told.changes == [("changed@2", "changed@9"), (None, "new@8"), ("gone@3", None)]
    assert cache.version == 10
    assert cache.synced


def test_the_first_list_is_told_before_the_cache_counts_as_synced(cache: Cache[Pod]) -> None:
    states: list[bool] = []
    cache.subscribe(lambda old, new: states.append(cache.synced))
    cache.replace([pod("p", 1)], "1")
    cache.put(*pod("q", 2))
    assert states == [False, True]


def test_versions_are_told_after_their_changes(cache: Cache[Pod]) -> None:
    seen: list[tuple[int, int]] = []
    cache.subscribe_version(lambda version: seen.append((version, len(cache))))
    cache.replace([pod("p", 1)], "7")
    cache.advance("7")
    cache.advance("9")
    assert seen == [(7, 1), (9, 1)]


def test_a_listener_that_fails_neither_stops_the_others_nor_the_cache(
    cache: Cache[Pod], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(old: Pod | None, new: Pod | None) -> None:
        raise RuntimeError("broken")

    cache.subscribe(broken)
    told = Told(cache)
    with caplog.at_level(logging.ERROR):
        cache.put(*pod("p", 1))
    assert told.changes == [(None, "p@1")]
    assert "a listener failed on a/p" in caplog.text


class TestIndexes:
    def test_namespaces_owners_and_labels(self, cache: Cache[Pod]) -> None:
        cache.put(*pod("p", 1, ownerReferences=owned("u1"), labels={"ray.io/cluster": "c"}))
        cache.put(*pod("q", 2, ownerReferences=owned("u1")))
        cache.put(*pod("r", 3, namespace="b", labels={"ray.io/cluster": "c"}))
        names = [found.metadata.name for found in cache.find("owner", "u1")]
        assert names == ["p", "q"]
        assert [found.metadata.name for found in cache.find("cluster", "a/c")] == ["p"]
        assert [found.metadata.name for found in cache.in_namespace("b")] == ["r"]
        assert cache.find("owner", "other") == []
        assert cache.find("owner", "nobody") == []

    def test_they_follow_changes(self, cache: Cache[Pod]) -> None:
        cache.put(*pod("p", 1, labels={"ray.io/cluster": "c"}))
        cache.put(*pod("p", 2, labels={"ray.io/cluster": "d"}))
        assert cache.find("cluster", "a/c") == []
        assert [found.metadata.resource_version for found in cache.find("cluster", "a/d")] == ["2"]
        cache.put(*pod("p", 3, labels={"ray.io/cluster": "d"}))
        assert [found.metadata.resource_version for found in cache.find("cluster", "a/d")] == ["3"]
        cache.remove(Key("a", "p"))
        assert cache.find("cluster", "a/d") == cache.in_namespace("a") == []

    @given(
        steps=st.lists(
            st.tuples(st.sampled_from("pqr"), st.sampled_from("xyz"), st.lists(st.sampled_from("12"), unique=True)),
            max_size=30,
        )
    )
    def test_they_always_agree_with_a_search(self, steps: list[tuple[str, str, list[str]]]) -> None:
        def tags(found: KubeObject) -> list[str]:
            return [value for value in found.metadata.annotation("tags").split(",") if value]

        cache = Cache(PODS, Pod, indexes={"tags": tags})
        for version, (name, namespace, values) in enumerate(steps):
            if values == ["2"]:
                cache.remove(Key(namespace, name))
            else:
                cache.put(*pod(name, version, namespace, annotations={"tags": ",".join(values)}))
            for value in "12":
                searched = {found.key for found in cache if value in tags(found)}
                assert {found.key for found in cache.find("tags", value)} == searched


def test_a_listener_that_failed_is_told_again_of_what_it_missed(cache: Cache[Pod]) -> None:
    told: list[tuple[str | None, str | None]] = []
    failing = True

    def listener(old: Pod | None, new: Pod | None) -> None:
        if failing:
            raise ValueError("a moment's mistake")
        told.append((_label(old), _label(new)))

    cache.subscribe(listener)
    cache.put(*pod("p", 1))
    cache.put(*pod("q", 2))
    failing = False
    cache.advance("3")
    assert told == [(None, "p@1"), (None, "q@2")]
    cache.advance("4")
    assert len(told) == 2


def test_what_a_listener_missed_is_told_with_the_next_change(cache: Cache[Pod]) -> None:
    told: list[tuple[str | None, str | None]] = []
    failing = True

    def listener(old: Pod | None, new: Pod | None) -> None:
        if failing:
            raise ValueError("a moment's mistake")
        told.append((_label(old), _label(new)))

    cache.subscribe(listener)
    cache.put(*pod("p", 1))
    cache.put(*pod("gone", 2))
    failing = False
    cache.put(*pod("p", 3))
    cache.remove(Key("a", "gone"))
    assert told == [(None, "p@3")], "what it never knew need not be taken from it"


def test_a_listener_that_always_fails_is_told_more_and_more_seldom(cache: Cache[Pod]) -> None:
    calls: list[int] = []

    def listener(_old: Pod | None, _new: Pod | None) -> None:
        calls.append(cache.version)
        raise ValueError("for ever")

    cache.subscribe(listener)
    cache.put(*pod("p", 1))
    for version in range(2, 102):
        cache.advance(str(version))
    assert calls == [-1, 2, 4, 8, 16, 32, 64]


def test_a_reader_may_add_an_index_to_a_cache_that_is_in_use() -> None:
    cache = Cache(PODS, Pod)
    cache.put(*pod("early", 1, labels={"team": "a"}))
    cache.add_index("team", by_label("team"))
    cache.put(*pod("late", 2, labels={"team": "a"}))
    cache.add_index("team", by_label("team"))
    assert [found.metadata.name for found in cache.find("team", "a/a")] == ["early", "late"]
    cache.remove(Key("a", "early"))
    assert [found.metadata.name for found in cache.find("team", "a/a")] == ["late"]
    with pytest.raises(ValueError, match="another index"):
        cache.add_index("team", by_label("crew"))
