"""Devices of GPUs."""

from __future__ import annotations

from pathlib import Path

from rayward.local.node.container.devices import graphics_devices, render_minors


def test_a_container_without_gpus_has_none_of_their_devices() -> None:
    assert graphics_devices((), [128]) == ()


def test_a_container_has_the_devices_of_its_own_gpus() -> None:
    chosen = set(graphics_devices((1,), [128, 129]))
    assert {"nvidiactl", "nvidia-uvm", "nvidia1", "dri/renderD129"} <= chosen
    assert not {"nvidia0", "dri/renderD128"} & chosen


def test_render_nodes_are_counted_as_the_driver_does(tmp_path: Path) -> None:
    for node, minor in (("0", 0), ("2", 129), ("10", 130)):
        (tmp_path / node).mkdir()
        (tmp_path / node / "properties").write_text(f"cpu_cores_count 0\ndrm_render_minor {minor}\n")
    (tmp_path / "3").mkdir()
    assert render_minors(tmp_path) == [129, 130]
