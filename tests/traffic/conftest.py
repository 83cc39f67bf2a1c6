"""A machine with pods and the traffic before them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rayward.local.node.capabilities import missing_in_child
from tests.traffic.machine import TrafficMachine


@pytest.fixture(scope="session")
def machine() -> Iterator[TrafficMachine]:
    refused = missing_in_child()
    if refused:
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    with TrafficMachine("--cpus", "64", "--memory", "64Gi") as running:
        yield running
