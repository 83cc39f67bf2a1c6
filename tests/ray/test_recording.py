"""Real Ray still answers as it did when it was recorded. If not: ``make record-ray``, and look why."""

from __future__ import annotations

import asyncio

import pytest

from tests.operator.ray.compare import differences
from tests.operator.ray.trace import load
from tests.ray.record import record

pytestmark = [pytest.mark.ray, pytest.mark.soak, pytest.mark.timeout(1200)]


def test_the_recording_is_what_real_ray_answers() -> None:
    found = differences(load(), asyncio.run(record()))
    assert not found, "\n".join(found)
