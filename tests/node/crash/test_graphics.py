"""GPUs of pods that outlive their node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.node.machine import Machine, sh

_ONE = {"resources": {"limits": {"nvidia.com/gpu": 1}}}


@pytest.fixture
def victim(machine: Machine) -> Iterator[Machine]:
    del machine  # Only to skip where pods cannot run.
    with Machine("--cpus", "8", "--memory", "8Gi", "--gpus", "2") as running:
        yield running


def test_they_stay_theirs(victim: Machine) -> None:
    first = victim.run(sh("echo $CUDA_VISIBLE_DEVICES; exec sleep 600", **_ONE))
    victim.until_ready(first)
    victim.kill_node()
    victim.start_node()
    assert victim.output(sh("echo $CUDA_VISIBLE_DEVICES", **_ONE)) == "1\n"
    assert victim.log(first) == "0\n"
    victim.delete(first)
    victim.until_gone(first)
    assert victim.output(sh("echo $CUDA_VISIBLE_DEVICES", **_ONE)) == "0\n"
