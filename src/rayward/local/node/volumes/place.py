"""Where volumes lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.node.container.expansion import expand
from rayward.local.node.volumes.content import VolumeError, is_made_from_objects

_FOLDERS: Final = ("Directory", "DirectoryOrCreate")


def memory_size(volume: Object, otherwise: int) -> int | None:
    """How large a volume in memory may grow; None if it is not one."""
    empty = volume.get("emptyDir")
    if empty is None or empty.get("medium") != "Memory":
        return None
    limit = empty.get("sizeLimit")
    return quantity.parse(limit).as_int() if limit is not None else otherwise


def folder_of(volume: Object, own: Path, claimed: Object | None) -> Path:
    """The folder or file behind a volume, made where the pod may ask for that.

    ``claimed`` is the spec of the volume that a claim holds.

    Raises:
        VolumeError: The volume cannot be had here.
    """
    if is_made_from_objects(volume) or volume.get("emptyDir") is not None:
        _make_own(own, 0o777 if volume.get("emptyDir") is not None else 0o755)
        return own
    if (host := volume.get("hostPath")) is not None:
        return _on_host(Path(host["path"]), host.get("type") or "")
    if claimed is not None:
        return _behind_claim(claimed)
    kind = next((key for key in volume if key != "name"), "nothing")
    raise VolumeError(f'volumes of kind "{kind}" are not supported by this node')


def _make_own(folder: Path, mode: int) -> None:
    if folder.exists():
        return
    # Whole or not at all: once the pod has it, its mode is the pod's to change.
    draft = folder.with_name(f".{folder.name}")
    draft.mkdir(parents=True, exist_ok=True)
    draft.chmod(mode)
    draft.rename(folder)


def _behind_claim(spec: Object) -> Path:
    if (host := spec.get("hostPath")) is not None:
        return _on_host(Path(host["path"]), host.get("type") or "")
    if (local := spec.get("local")) is not None:
        path = Path(local["path"])
        if not path.exists():
            raise VolumeError(f'path "{path}" does not exist')
        return path
    raise VolumeError("this node mounts persistent volumes of the kinds hostPath and local only")


def _on_host(path: Path, kind: str) -> Path:
    if kind == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch(mode=0o644)
    elif not kind:
        _make_on_host(path)
    elif not path.exists():
        raise VolumeError(f"hostPath type check failed: {path} does not exist")
    if (kind in _FOLDERS and not path.is_dir()) or (kind in ("File", "FileOrCreate") and not path.is_file()):
        wanted = "directory" if kind in _FOLDERS else "file"
        raise VolumeError(f"hostPath type check failed: {path} is not a {wanted}")
    return path


def _make_on_host(path: Path) -> None:
    try:
        if not path.exists():
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise VolumeError(f"hostPath {path} can neither be found nor made by this node: {error.strerror}") from error


def mounts(
    container: Object, volumes: Iterable[Object], folders: Mapping[str, Path], variables: Mapping[str, str]
) -> list[Object]:
    """The mounts of a container, outer ones first; parts of volumes are found, and made, by whoever mounts them.

    Raises:
        VolumeError: A mount leads out of its volume.
    """
    read_only = {volume["name"] for volume in volumes if _is_read_only(volume)}
    made: list[Object] = []
    for mount in entries(container, "volumeMounts"):
        name, folder = mount["name"], folders[mount["name"]]
        inner = mount.get("subPath") or expand(mount.get("subPathExpr") or "", variables)
        if inner:
            _check_inside(folder, inner, name)
        source = {"volume": str(folder), "part": inner} if inner else {"source": str(folder)}
        closed = name in read_only or bool(mount.get("readOnly"))
        made.append({**source, "target": mount["mountPath"], "readOnly": closed})
    return sorted(made, key=lambda mount: mount["target"].count("/"))


def _is_read_only(volume: Object) -> bool:
    # What is made from objects is the node's to write: it reads it again at every change.
    return is_made_from_objects(volume) or bool(section(volume, "persistentVolumeClaim").get("readOnly"))


def _check_inside(folder: Path, inner: str, name: str) -> None:
    if inner.startswith("/"):
        raise VolumeError(f"error SubPath `{inner}` must not be an absolute path")
    if ".." in inner.split("/"):
        raise VolumeError(f"unable to provision SubPath `{inner}`: must not contain '..'")
    # For a message in good time: what is true when it is mounted is seen to there.
    if not Path(os.path.realpath(folder / inner)).is_relative_to(os.path.realpath(folder)):
        raise VolumeError(f'subPath "{inner}" of volume "{name}" leads out of the volume')
