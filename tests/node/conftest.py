"""One machine for all behaviours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.local.node.capabilities import missing_in_child
from tests.node.machine import Machine


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "hidden").mkdir()
    (folder / "hidden" / "x").write_text("hidden")
    (folder / "secret").write_text("secret")
    return folder


@pytest.fixture(scope="session")
def machine(project: Path) -> Iterator[Machine]:
    refused = missing_in_child()
    if refused:
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    hidden = ("--hide", str(project / "hidden"), "--hide", str(project / "secret"))
    with Machine("--cpus", "8", "--memory", "16Gi", "--gpus", "2", "--project", str(project), *hidden) as running:
        yield running
