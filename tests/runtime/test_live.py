"""Client and runtime on the embedded API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from tests.contract.target import embedded_server
from tests.runtime.live import SCENARIOS, Scenario, run_scenario


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Access]:
    folder: Path = tmp_path_factory.mktemp("server")
    with embedded_server(folder):
        yield find_access(folder / "kubeconfig")


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_on_the_embedded_server(scenario: Scenario, access: Access) -> None:
    await run_scenario(scenario, access)
