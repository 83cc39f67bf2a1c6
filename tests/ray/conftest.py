"""One local Rayward for all tests with real Ray that share it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.ray.stack import RayStack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    with RayStack(tmp_path_factory.mktemp("ray") / "stack") as running:
        yield running
