"""What was recorded is what the real server says now."""

from __future__ import annotations

import json

import pytest

from tests.machinery.schema.recording import take


@pytest.mark.soak
@pytest.mark.kube
def test_the_recording_is_not_stale() -> None:
    assert json.loads(take.take()) == take.recorded(), "run python -m tests.machinery.schema.recording and look at it"
