"""Where limits can be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.kube.machinery import quantity
from rayward.local.node.cgroups import Cgroups, Group, Place, place_of, shares, weight

_UNIFIED = "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"
_OLD = (
    "31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 1 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.mark.parametrize(
    ("mounts", "own", "expected"),
    [
        (
            _UNIFIED,
            "0::/user.slice/x",
            Place("/sys/fs/cgroup/user.slice/x", "/sys/fs/cgroup/user.slice/x", unified=True),
        ),
        (
            _OLD,
            "4:memory:/a\n3:cpu,cpuacct:/",
            Place("/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/cpu,cpuacct", unified=False),
        ),
        (_OLD + _UNIFIED, "4:memory:/a\n0::/", Place("/sys/fs/cgroup/memory/a", "", unified=False)),
        ("", "0::/", None),
    ],
    ids=["unified", "old", "both", "none"],
)
def test_where_groups_are_made(mounts: str, own: str, expected: Place | None) -> None:
    assert place_of(mounts, own) == expected


LIMITS = {"memory": quantity.parse("1Gi"), "cpu": quantity.parse("1500m")}


def test_limits_of_the_unified_kind(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory")
    groups = Cgroups(Place(str(tmp_path), str(tmp_path), unified=True))
    made = groups.make("pod", "c", LIMITS, {"cpu": quantity.parse("1")})
    folder = tmp_path / "rayward" / "pod" / "c"
    assert groups.refusal == ""
    assert (folder / "memory.max").read_text() == str(2**30)
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert (folder / "cpu.weight").read_text() == "39"
    seen = ((str(folder), "/sys/fs/cgroup"),)
    assert made == Group((str(folder / "cgroup.procs"),), str(folder / "memory.events"), seen)


def test_limits_of_the_old_kind(tmp_path: Path) -> None:
    for name in ("memory", "cpu"):
        (tmp_path / name).mkdir()
    groups = Cgroups(Place(str(tmp_path / "memory"), str(tmp_path / "cpu"), unified=False))
    made = groups.make("pod", "c", LIMITS, LIMITS)
    assert (tmp_path / "memory/rayward/pod/c/memory.limit_in_bytes").read_text() == str(2**30)
    assert (tmp_path / "cpu/rayward/pod/c/cpu.cfs_quota_us").read_text() == "150000"
    assert len(made.join) == 2


def test_without_limits_there_is_a_share_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    groups = Cgroups(Place(str(tmp_path), str(tmp_path / "cpu"), unified=False))
    groups.share("pod", {"cpu": quantity.parse("3")})
    assert len(groups.make("pod", "c", {}, {}).join) == 2
    assert (tmp_path / "cpu/rayward/pod/cpu.shares").read_text() == "3072"
    assert (tmp_path / "cpu/rayward/pod/c/cpu.shares").read_text() == "102"
    assert not (tmp_path / "rayward/pod/c/memory.limit_in_bytes").exists()


@pytest.mark.parametrize(
    ("asked", "of_old", "unified"),
    [("0", 2, 1), ("1m", 2, 1), ("100m", 102, 4), ("1", 1024, 39), ("2500m", 2560, 98), ("1000", 262144, 10000)],
)
def test_shares_follow_requests(asked: str, of_old: int, unified: int) -> None:
    assert (shares(quantity.parse(asked)), weight(quantity.parse(asked))) == (of_old, unified)


@pytest.mark.parametrize("place", [None, Place("/proc/no", "/proc/no", unified=False)], ids=["none", "not ours"])
def test_a_machine_that_refuses_says_why(place: Place | None) -> None:
    groups = Cgroups(place)
    assert groups.refusal
    groups.share("pod", LIMITS)
    assert groups.make("pod", "c", LIMITS, LIMITS) == Group()


def test_groups_that_nobody_delegated(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert "not delegated" in Cgroups(Place(str(tmp_path), str(tmp_path), unified=True)).refusal
