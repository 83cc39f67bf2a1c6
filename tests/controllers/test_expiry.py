from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rayward.local.controllers.expiry import TimedEvent, seconds_left

_NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("event", "left"),
    [
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T12:00:00Z"}}, 3600, id="new"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T11:00:01Z"}}, 1, id="nearly an hour"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T11:00:00Z"}}, 0, id="an hour"),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T09:00:00Z"}, "lastTimestamp": "2026-01-01T11:30:00Z"},
            1800,
            id="seen again",
        ),
        pytest.param(
            {
                "metadata": {"creationTimestamp": "2026-01-01T09:00:00Z"},
                "eventTime": "2026-01-01T09:00:00.000001Z",
                "series": {"count": 3, "lastObservedTime": "2026-01-01T11:59:59.500000Z"},
            },
            3599.5,
            id="a series",
        ),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T18:00:00Z"}}, 3600, id="from the future"),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T11:30:00Z"}, "eventTime": None, "lastTimestamp": None},
            1800,
            id="times left out as null",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T11:30:00Z"}, "lastTimestamp": "soon"}, 1800, id="no time"
        ),
        pytest.param({"metadata": {}}, 0, id="no times at all"),
    ],
)
def test_how_long_an_event_may_stay(event: dict[str, Any], left: float) -> None:
    assert seconds_left(msgspec.convert(event, TimedEvent), _NOW) == left
