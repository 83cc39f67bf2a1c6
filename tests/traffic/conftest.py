"""A machine with pods and the traffic before them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.traffic.machine import TrafficMachine, require_pods


@pytest.fixture(scope="session")
def machine() -> Iterator[TrafficMachine]:
    require_pods()
    with TrafficMachine("--cpus", "64", "--memory", "64Gi") as running:
        yield running
