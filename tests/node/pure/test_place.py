"""Where volumes lie."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rayward.local.node.volumes import place
from rayward.local.node.volumes.content import VolumeError

Object = dict[str, Any]


def _mount(volume: Object, folder: Path, *, variables: Mapping[str, str] | None = None, **more: Any) -> Object:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/m", **more}]}
    (made,) = place.mounts(container, [{"name": "v", **volume}], {"v": folder}, variables or {})
    return made


def test_a_part_of_a_volume_is_left_to_whoever_sees_into_it(tmp_path: Path) -> None:
    assert _mount({"emptyDir": {}}, tmp_path, subPathExpr="$(WHO)/data", variables={"WHO": "me"}) == {
        "volume": str(tmp_path),
        "part": "me/data",
        "target": "/m",
        "readOnly": False,
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("out", 'subPath "out" of volume "v" leads out of the volume'),
        ("out/deeper", 'subPath "out/deeper" of volume "v" leads out of the volume'),
        ("../other", r"unable to provision SubPath `../other`: must not contain '..'"),
        ("a/../../other", r"unable to provision SubPath `a/../../other`: must not contain '..'"),
        ("/etc", "error SubPath `/etc` must not be an absolute path"),
    ],
)
def test_a_part_of_a_volume_stays_inside_it(tmp_path: Path, part: str, message: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "v" / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(VolumeError) as refused:
        _mount({"emptyDir": {}}, tmp_path / "v", subPathExpr="$(WHERE)", variables={"WHERE": part})
    assert str(refused.value) == message
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["out", "outside", "v"]


@pytest.mark.parametrize(
    ("volume", "read_only"),
    [
        ({"emptyDir": {}}, False),
        ({"hostPath": {"path": "/x"}}, False),
        ({"persistentVolumeClaim": {"claimName": "c"}}, False),
        ({"persistentVolumeClaim": {"claimName": "c", "readOnly": True}}, True),
        ({"configMap": {"name": "m"}}, True),
        ({"secret": {"secretName": "s"}}, True),
        ({"downwardAPI": {"items": []}}, True),
        ({"projected": {"sources": []}}, True),
    ],
    ids=str,
)
def test_which_volumes_no_container_writes(tmp_path: Path, volume: Object, read_only: bool) -> None:
    assert _mount(volume, tmp_path)["readOnly"] is read_only
    assert _mount(volume, tmp_path, readOnly=False)["readOnly"] is read_only
    assert _mount(volume, tmp_path, readOnly=True)["readOnly"] is True


def test_an_empty_folder_is_open_to_all_until_its_pod_says_otherwise(tmp_path: Path) -> None:
    own = tmp_path / "volumes" / "work"
    assert place.folder_of({"name": "work", "emptyDir": {}}, own, None) == own
    assert stat.S_IMODE(own.stat().st_mode) == 0o777
    own.chmod(0o700)
    place.folder_of({"name": "work", "emptyDir": {}}, own, None)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert [entry.name for entry in own.parent.iterdir()] == ["work"]


def test_an_empty_folder_that_was_begun_is_made_whole(tmp_path: Path) -> None:
    (tmp_path / ".work").mkdir(mode=0o700)
    place.folder_of({"name": "work", "emptyDir": {}}, tmp_path / "work", None)
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o777


def test_a_folder_of_the_machine_is_made_where_its_kind_is_not_told(tmp_path: Path) -> None:
    made = tmp_path / "new" / "folder"
    assert place.folder_of({"name": "x", "hostPath": {"path": str(made)}}, tmp_path / "own", None) == made
    assert made.is_dir()
    file = tmp_path / "file"
    file.touch()
    assert place.folder_of({"name": "x", "hostPath": {"path": str(file), "type": ""}}, tmp_path, None) == file


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"name": "x", "nfs": {}}, 'volumes of kind "nfs" are not supported by this node'),
        (
            {"name": "x", "hostPath": {"path": "/no/such", "type": "Directory"}},
            "hostPath type check failed: /no/such does not exist",
        ),
        (
            {"name": "x", "hostPath": {"path": "/etc/hosts/x"}},
            "hostPath /etc/hosts/x can neither be found nor made by this node: Not a directory",
        ),
        ({"name": "x", "hostPath": {"path": "/etc/hosts", "type": "Directory"}}, "is not a directory"),
    ],
)
def test_places_that_cannot_be_had(tmp_path: Path, volume: Object, message: str) -> None:
    with pytest.raises(VolumeError, match=message):
        place.folder_of(volume, tmp_path, None)


_CLAIM = {"name": "x", "persistentVolumeClaim": {"claimName": "c"}}


def test_a_claim_leads_to_the_folder_of_its_volume(tmp_path: Path) -> None:
    made = tmp_path / "new" / "folder"
    host = {"hostPath": {"path": str(made), "type": "DirectoryOrCreate"}}
    assert place.folder_of(_CLAIM, tmp_path / "own", host) == made
    assert made.is_dir()
    assert place.folder_of(_CLAIM, tmp_path / "own", {"local": {"path": str(made)}}) == made


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ({"local": {"path": "/no/such"}}, 'path "/no/such" does not exist'),
        ({"hostPath": {"path": "/no/such", "type": "Directory"}}, "/no/such does not exist"),
        ({"nfs": {}}, "of the kinds hostPath and local only"),
    ],
)
def test_volumes_of_claims_that_cannot_be_had(tmp_path: Path, claimed: Object, message: str) -> None:
    with pytest.raises(VolumeError, match=message):
        place.folder_of(_CLAIM, tmp_path, claimed)
