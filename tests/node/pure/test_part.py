"""Parts of volumes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.local.node.sandbox import part


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "volume"
    (folder / "there").mkdir(parents=True)
    (folder / "there" / "file").write_text("x")
    (tmp_path / "outside").mkdir()
    return folder


def _opened(volume: Path, inner: str) -> Path:
    with part.opened(str(volume), inner) as found:
        return Path(f"/proc/self/fd/{found}").readlink()


@pytest.mark.parametrize("inner", ["there", "there/file", "there/new/deep", "new", "./there//new"])
def test_a_part_is_opened_and_made_if_it_is_missing(volume: Path, inner: str) -> None:
    assert _opened(volume, inner) == volume / inner
    assert (volume / inner).exists()


def test_links_inside_the_volume_are_followed(volume: Path) -> None:
    (volume / "link").symlink_to("there")
    (volume / "there" / "back").symlink_to("../there/file")
    assert _opened(volume, "link/back") == volume / "there" / "file"
    assert _opened(volume, "link/new") == volume / "there" / "new"


@pytest.mark.parametrize("leads_to", ["../outside", "/etc", "there/../../outside", "/proc/self/cwd"])
@pytest.mark.parametrize("inner", ["link", "link/new/deep"])
def test_links_that_lead_out_are_refused_and_nothing_is_made(volume: Path, leads_to: str, inner: str) -> None:
    (volume / "link").symlink_to(leads_to)
    with pytest.raises(OSError, match="leads out of the volume"):
        _opened(volume, inner)
    assert list((volume.parent / "outside").iterdir()) == []


@pytest.mark.parametrize("inner", ["../outside", "there/../../outside", "new/../../outside", "/etc"])
def test_names_that_lead_out_are_refused(volume: Path, inner: str) -> None:
    with pytest.raises(OSError, match="leads out of the volume"):
        _opened(volume, inner)


def test_a_link_that_leads_nowhere_is_an_error(volume: Path) -> None:
    (volume / "link").symlink_to("missing")
    with pytest.raises(FileExistsError):
        _opened(volume, "link")


def _descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_no_descriptor_is_left_open(volume: Path) -> None:
    (volume / "link").symlink_to("../outside")
    before = _descriptors()
    _opened(volume, "a/b/c")
    with pytest.raises(OSError, match="leads out"):
        _opened(volume, "there/../link")
    assert _descriptors() == before
