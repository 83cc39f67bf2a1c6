"""Claims on a real kube-apiserver that has no controller manager."""

from __future__ import annotations

import pytest

from tests.controllers.claims_scenarios import ClaimScenarios
from tests.controllers.test_on_real_server import kubeconfig

__all__ = ["kubeconfig"]

pytestmark = pytest.mark.kube


class TestRealServer(ClaimScenarios):
    pass
