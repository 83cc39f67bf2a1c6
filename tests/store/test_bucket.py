from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.store.bucket import Bucket, bucket_name, prefix_name
from tests.store.support import created, deleted, updated


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/pods/default/web-1", "pods", id="namespaced key"),
        pytest.param("/namespaces/default", "namespaces", id="cluster-scoped key"),
        pytest.param("/rayclusters.ray.io/", "rayclusters.ray.io", id="prefix"),
    ],
)
def test_the_first_segment_names_the_bucket(path: str, name: str) -> None:
    assert bucket_name(path) == name


@pytest.mark.parametrize("path", ["", "/", "//", "/pods", "pods/default", "//default/x"])
def test_a_path_without_resource_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="does not begin with a resource"):
        bucket_name(path)


@pytest.mark.parametrize("prefix", ["", "/", "/pods", "/pods/def", "pods/"])
def test_a_prefix_ends_where_a_segment_ends(prefix: str) -> None:
    with pytest.raises(ValueError, match="does not"):
        prefix_name(prefix)


def _bucket(*keys: str) -> Bucket:
    bucket = Bucket()
    for revision, key in enumerate(keys, 1):
        bucket.add(created(key, revision))
    return bucket


def test_keys_are_in_order_whatever_the_order_of_creation() -> None:
    bucket = _bucket("/pods/b/1", "/pods/a/2", "/pods/a/10", "/pods/ab/1")
    assert bucket.keys("/pods/") == ("/pods/a/10", "/pods/a/2", "/pods/ab/1", "/pods/b/1")
    assert bucket.keys("/pods/a/") == ("/pods/a/10", "/pods/a/2")
    assert bucket.keys("/pods/c/") == ()
    assert [bucket.count(prefix) for prefix in ("/pods/", "/pods/a/", "/pods/c/")] == [4, 2, 0]


def test_the_same_answer_comes_back_until_a_key_comes_or_goes() -> None:
    bucket = _bucket("/pods/a/1")
    keys = bucket.keys("/pods/")
    update = updated(created("/pods/a/1", 1).record, 2)
    bucket.add(update)
    assert bucket.keys("/pods/") is keys
    bucket.add(created("/pods/a/2", 3))
    assert bucket.keys("/pods/") == ("/pods/a/1", "/pods/a/2")
    bucket.add(deleted(update.record, 4))
    assert bucket.keys("/pods/") == ("/pods/a/2",)


def test_many_prefixes_do_not_pile_up() -> None:
    bucket = _bucket("/pods/a/1")
    for number in range(1000):
        assert bucket.keys(f"/pods/{number}/") == ()
    assert len(bucket._slices) <= 64
    assert bucket.keys("/pods/a/") == ("/pods/a/1",)


def test_events_are_those_above_a_revision_and_below_a_prefix() -> None:
    bucket = _bucket("/pods/a/1", "/pods/b/1", "/pods/a/2")
    assert [event.revision for event in bucket.events(0, "/pods/")] == [1, 2, 3]
    assert [event.revision for event in bucket.events(1, "/pods/")] == [2, 3]
    assert [event.revision for event in bucket.events(0, "/pods/a/")] == [1, 3]
    assert list(bucket.events(3, "/pods/")) == []
    bucket.forget(2)
    assert [event.revision for event in bucket.events(2, "/pods/")] == [3]
    assert bucket.count("/pods/") == 3


@given(
    st.sets(st.text(alphabet="/.0aÿ\uffff\U0010ffff", min_size=1, max_size=4)), st.text(alphabet="/.0aÿ", max_size=2)
)
def test_a_prefix_selects_exactly_the_keys_that_begin_with_it(names: set[str], part: str) -> None:
    bucket = Bucket()
    bucket.set_keys(sorted(f"/pods/{name}" for name in names))
    prefix = f"/pods/{part}/" if part else "/pods/"
    expected = sorted(key for key in (f"/pods/{name}" for name in names) if key.startswith(prefix))
    assert bucket.keys(prefix) == tuple(expected)
    assert bucket.count(prefix) == len(expected)
