"""What was recorded is what the pinned components say now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.record import files
from tests.kube.record.take import TEST_DATA, take

pytestmark = pytest.mark.kube

_RECORDED = sorted([*files.FOLDER.glob("*.gz"), *TEST_DATA.glob("*.gz")])


@pytest.fixture(scope="module")
def said() -> dict[Path, bytes]:
    return take()


@pytest.mark.parametrize("path", _RECORDED, ids=[path.name for path in _RECORDED])
def test_a_recording_is_not_stale(said: dict[Path, bytes], path: Path) -> None:
    assert files.same(path, said[path]), f"{path.name} is stale: look at it, then run make record"


def test_everything_that_is_said_is_recorded(said: dict[Path, bytes]) -> None:
    assert sorted(said) == _RECORDED
