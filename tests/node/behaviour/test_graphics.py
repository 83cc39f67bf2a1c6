"""GPUs, by number."""

from __future__ import annotations

from typing import Any

from tests.node.laying import laid
from tests.node.machine import Machine, sh


def _asks(cards: int) -> dict[str, Any]:
    return {"resources": {"limits": {"nvidia.com/gpu": cards}}}


def test_containers_have_the_cards_of_the_init_containers_before_them(machine: Machine) -> None:
    name = machine.run(
        sh("echo $CUDA_VISIBLE_DEVICES", **_asks(1)),
        initContainers=[{**sh("echo $CUDA_VISIBLE_DEVICES", **_asks(2)), "name": "i"}],
    )
    machine.until_phase(name, "Succeeded")
    assert (machine.log(name, "i"), machine.log(name)) == ("0,1\n", "0\n")


def test_a_pod_waits_for_the_cards_of_one_that_is_still_ending(machine: Machine) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "600"]}}}
    slow = machine.run(sh("exec sleep 600", lifecycle=hook, **_asks(2)), terminationGracePeriodSeconds=600)
    machine.until_ready(slow)
    machine.delete(slow)
    # Its object goes at once, its processes a moment later.
    machine.delete(slow, grace_period_seconds=0)
    assert machine.output(sh("echo $CUDA_VISIBLE_DEVICES", **_asks(2)), nodeName=machine.node) == "0,1\n"


def test_the_root_of_a_container_has_the_devices_of_its_own_gpus_alone(machine: Machine) -> None:
    del machine  # Only to skip where pods cannot run.
    there = {"nvidia0": "zero", "nvidia1": "full", "nvidia4": "random", "nvidiactl": "null", "dxg": "null"}
    assert laid(there, (1, 2)) == {"nvidia1": "full", "nvidia4": "random", "nvidiactl": "null", "dxg": "null"}
