"""Claims on the embedded server."""

from __future__ import annotations

from tests.controllers.claims_scenarios import ClaimScenarios
from tests.controllers.test_on_our_server import kubeconfig

__all__ = ["kubeconfig"]


class TestOurServer(ClaimScenarios):
    pass
