"""Devices of GPUs."""

from __future__ import annotations

from pathlib import Path

from rayward.local.node.container.devices import card_minors, granted, render_minors


def test_a_container_without_gpus_has_none_of_their_devices() -> None:
    assert granted((), [0], [128]).devices == ()


def test_a_container_has_the_devices_of_its_own_gpus_and_counts_them_from_0() -> None:
    chosen = granted((1, 2), [0, 1, 4], [128, 129, 130])
    assert {"nvidiactl", "nvidia-uvm", "nvidia1", "nvidia4", "dri/renderD129"} <= set(chosen.devices)
    assert not {"nvidia0", "nvidia2", "dri/renderD128"} & set(chosen.devices)
    assert chosen.visible == (0, 1)


def test_gpus_without_devices_of_their_own_keep_the_machines_numbers() -> None:
    assert granted((1, 2), []).visible == (1, 2)


def test_minors_are_read_from_names(tmp_path: Path) -> None:
    for name in ("nvidia0", "nvidia10", "nvidia3", "nvidiactl", "nvidia-uvm", "nvidia7x"):
        (tmp_path / name).touch()
    assert card_minors(tmp_path) == [0, 3, 10]


def test_render_nodes_are_counted_as_the_driver_does(tmp_path: Path) -> None:
    for node, minor in (("0", 0), ("2", 129), ("10", 130)):
        (tmp_path / node).mkdir()
        (tmp_path / node / "properties").write_text(f"cpu_cores_count 0\ndrm_render_minor {minor}\n")
    (tmp_path / "3").mkdir()
    assert render_minors(tmp_path) == [129, 130]
