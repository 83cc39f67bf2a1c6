"""What tests of the runtime share."""

from __future__ import annotations

import pytest


@pytest.fixture
def quiet_reflector(caplog: pytest.LogCaptureFixture) -> None:
    """Servers and networks fail here by the thousand; each failure is logged."""
    caplog.set_level("CRITICAL", "rayward.kube.runtime.reflector")
