"""Where volumes lie on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import entries
from rayward.local.node.container.expansion import expand
from rayward.local.node.volumes.content import VolumeError, is_made_from_objects

Object = dict[str, Any]

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
        own.mkdir(parents=True, exist_ok=True)
        if volume.get("emptyDir") is not None:
            own.chmod(0o777)
        return own
    if (host := volume.get("hostPath")) is not None:
        return _on_host(Path(host["path"]), host.get("type") or "")
    if claimed is not None:
        return _behind_claim(claimed)
    kind = next((key for key in volume if key != "name"), "nothing")
    raise VolumeError(f'volumes of kind "{kind}" are not supported by this node')


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
    elif not path.exists():
        raise VolumeError(f"hostPath type check failed: {path} does not exist")
    if (kind in _FOLDERS and not path.is_dir()) or (kind in ("File", "FileOrCreate") and not path.is_file()):
        wanted = "directory" if kind in _FOLDERS else "file"
        raise VolumeError(f"hostPath type check failed: {path} is not a {wanted}")
    return path


def mounts(container: Object, folders: Mapping[str, Path], variables: Mapping[str, str]) -> list[Object]:
    """The mounts of a container, outer ones first.

    Raises:
        VolumeError: A mount leads out of its volume.
    """
    made: list[Object] = []
    for mount in entries(container, "volumeMounts"):
        source = folders[mount["name"]]
        inner = mount.get("subPath") or expand(mount.get("subPathExpr") or "", variables)
        if inner:
            source = _inside(source, inner, mount["name"])
        made.append({"source": str(source), "target": mount["mountPath"], "readOnly": bool(mount.get("readOnly"))})
    return sorted(made, key=lambda mount: mount["target"].count("/"))


def _inside(folder: Path, inner: str, name: str) -> Path:
    found = folder / inner
    if not found.exists():
        found.mkdir(parents=True)
    resolved = found.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        raise VolumeError(f'subPath "{inner}" of volume "{name}" leads out of the volume')
    return resolved
