"""Our server, asked as the real one was for the recordings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.apiserver.builtin.judge import Judge
from tests.contract.target import embedded_server


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    with embedded_server() as server, contextlib.closing(server.connect()) as connection:
        asked = Judge(connection)
        with asked.account("default"):
            yield asked
