from __future__ import annotations

import gc

import pytest

from rayward.local.store import Event
from tests.store.support import created, deleted, record, updated

_OLD = record("/pods/x/a", 1, b"12345")


@pytest.mark.parametrize(
    ("event", "size"),
    [
        pytest.param(created("/pods/x/a", 2, b"123"), 0, id="a creation holds nothing that is not needed anyway"),
        pytest.param(updated(_OLD, 2, b"123"), 5, id="an update holds what it replaced"),
        pytest.param(deleted(_OLD, 2, b"123"), 8, id="a deletion holds what it removed, and the final bytes"),
    ],
)
def test_bytes_held_only_by_an_event(event: Event, size: int) -> None:
    assert event.superseded_bytes == size


def test_the_garbage_collector_has_no_work_with_them() -> None:
    assert not gc.is_tracked(_OLD)
    assert not gc.is_tracked(updated(_OLD, 2))
