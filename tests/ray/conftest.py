"""One local Rayward for all tests with real Ray that share it, and a service for each module that asks for one."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

from tests.ray.service import HelloService
from tests.ray.stack import RayStack
from tests.ray.variants import MODULES, tuned


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    """One that knows the image of the samples and no other."""
    with RayStack(
        tmp_path_factory.mktemp("ray") / "stack", "--images", "strict", "--image", f"rayproject/ray={sys.prefix}"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def shared(stack: RayStack) -> Generator[HelloService]:
    made = HelloService(stack, "edits", MODULES, serveConfigV2=tuned(), rayClusterDeletionDelaySeconds=0)
    made.serves("1 plain")
    yield made
    made.delete()


@pytest.fixture
def service(shared: HelloService) -> HelloService:
    """One that serves with one cluster; each test begins where the last one ended."""
    shared.restore()
    return shared
