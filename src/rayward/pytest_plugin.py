"""Fixtures for pytest, found by it once Rayward is installed: a server for the session, a namespace for each test.

Nothing is started, and nothing of Rayward imported, before a test asks for one of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rayward import Client
    from rayward.sdk.local import LocalServer


@pytest.fixture(scope="session")
def rayward_server() -> Iterator[LocalServer]:
    """The embedded API server with Ray's kinds and operator; pods stay pending."""
    from rayward.sdk import local

    server = local.start()
    yield server
    server.stop()


@pytest.fixture
def rayward_client(rayward_server: LocalServer) -> Iterator[Client]:
    """A client in a namespace of its own, which goes with the test."""
    from rayward import Client
    from rayward.kube.core.resource import NAMESPACES

    name = f"test-{uuid.uuid4().hex[:8]}"
    with Client.connect(rayward_server.access, namespace=name) as client:
        client.api.create(NAMESPACES, {"metadata": {"name": name}})
        yield client
        client.api.delete(NAMESPACES, name)
