"""Endpoints as kube-controller-manager makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.controllers.endpoints_play import ENDPOINTS_PLAY
from tests.controllers.scenarios import running, space
from tests.controllers.test_on_our_server import kubeconfig

__all__ = ["kubeconfig"]


@pytest.mark.anyio
async def test_endpoints_follow_pods_and_services(kubeconfig: Path) -> None:
    async with running(kubeconfig) as client, space(client) as namespace:
        await ENDPOINTS_PLAY.check(client, namespace)
