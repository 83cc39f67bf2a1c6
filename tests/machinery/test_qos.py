"""The quality of service of pods."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.qos import quality

_BOTH = {"cpu": "1", "memory": "1Gi"}
_GUARANTEED = {"requests": _BOTH, "limits": _BOTH}


def _spec(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"containers": [{"resources": each} for each in resources], **more}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(_spec({}), "BestEffort", id="nothing"),
        pytest.param(_spec({"requests": {"example.com/gpu": "1"}}), "BestEffort", id="only other resources"),
        pytest.param(_spec({"requests": {"cpu": "0"}}), "BestEffort", id="zero"),
        pytest.param(_spec(_GUARANTEED), "Guaranteed", id="both, and both alike"),
        pytest.param(
            _spec({"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": _BOTH}), "Guaranteed", id="other forms"
        ),
        pytest.param(_spec(_GUARANTEED, {}), "Burstable", id="one container without"),
        pytest.param(_spec({"requests": {"cpu": "1"}}), "Burstable", id="requests only"),
        pytest.param(
            _spec({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}), "Burstable", id="half"
        ),
        pytest.param(
            _spec(_GUARANTEED, initContainers=[{"resources": {"requests": {"cpu": "1"}}}]), "Burstable", id="init"
        ),
        pytest.param(_spec({}, resources=_GUARANTEED), "Guaranteed", id="of the pod itself"),
        pytest.param(_spec(_GUARANTEED, resources={"requests": {"cpu": "1"}}), "Burstable", id="the pod itself counts"),
    ],
)
def test_quality(spec: dict[str, Any], expected: str) -> None:
    assert quality(spec) == expected
