"""What a program sees of our server is what it sees of Kubernetes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest

from tests.clients.program import PROGRAMS, Program, outcome

pytestmark = [pytest.mark.anyio, pytest.mark.kube, pytest.mark.timeout(1200)]

_EXPECTED: Final = Path(__file__).parent / "expected"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
async def test_a_program_sees_the_same_of_both_servers(
    program: Program, embedded_kubeconfig: Path, real_kubeconfig: Path, tmp_path: Path
) -> None:
    command = await asyncio.to_thread(program.command)
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        folder.mkdir()
    ours, theirs = await asyncio.gather(
        outcome(command, embedded_kubeconfig, folders[0]), outcome(command, real_kubeconfig, folders[1])
    )
    assert ours.splitlines() == theirs.splitlines()
    assert theirs == (_EXPECTED / f"{program.name}.txt").read_text(), "what the steps come to is known"
