"""Where volumes lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayward.local.node.volumes import place
from rayward.local.node.volumes.content import VolumeError

Object = dict[str, Any]


def test_a_part_of_a_volume_stays_inside_it(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "out").symlink_to("/etc")
    container = {"volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "out"}]}
    with pytest.raises(VolumeError, match="leads out of the volume"):
        place.mounts(container, {"v": tmp_path / "v"}, {})


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"name": "x", "nfs": {}}, 'volumes of kind "nfs" are not supported by this node'),
        ({"name": "x", "hostPath": {"path": "/no/such"}}, "hostPath type check failed: /no/such does not exist"),
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
