from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.net.peer import Identities, Peer, peer


@pytest.fixture
def plain() -> Iterator[Peer]:
    with peer() as server:
        yield server


@pytest.fixture
def identities(tmp_path: Path) -> Identities:
    return Identities(tmp_path)


@pytest.fixture
def secure(identities: Identities) -> Iterator[Peer]:
    with peer(identities.server_context()) as server:
        yield server
