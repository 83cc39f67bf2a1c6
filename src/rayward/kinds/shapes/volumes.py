"""Volumes of Ray's pods and where they are mounted."""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds.shapes.metadata import Object

_SHARED_MEMORY: Final = "shared-mem"
_LOGS: Final = "ray-logs"


def add_shared_memory(spec: Object, container: Object) -> None:
    """Memory for Ray's object store, as large as the container may be."""
    volume: Object = {"medium": "Memory"}
    size = _memory(container)
    if size is not None:
        volume["sizeLimit"] = size
    _add_directory(spec, container, _SHARED_MEMORY, "/dev/shm", volume)  # noqa: S108 -- a mount path inside a pod


def add_shared_logs(spec: Object, *containers: Object) -> None:
    """The folder in which the autoscaler writes what the head reads."""
    for container in containers:
        _add_directory(spec, container, _LOGS, "/tmp/ray", {})  # noqa: S108 -- a mount path inside a pod


def add_volume(spec: Object, volume: Object) -> None:
    """A volume of the pod, unless one of that name is there."""
    volumes: list[Object] = spec.get("volumes") or []
    if not any(found.get("name") == volume["name"] for found in volumes):
        spec["volumes"] = [*volumes, volume]


def add_mount(container: Object, mount: Object) -> None:
    """A mount of the container."""
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _add_directory(spec: Object, container: Object, name: str, path: str, volume: Object) -> None:
    mounts: list[Object] = container.get("volumeMounts") or []
    if any(mount.get("mountPath") == path for mount in mounts):
        return
    add_volume(spec, {"name": name, "emptyDir": volume})
    add_mount(container, {"name": name, "mountPath": path})


def _memory(container: Object) -> Any:
    resources: Object = container.get("resources") or {}
    for kind in ("limits", "requests"):
        amounts: Object = resources.get(kind) or {}
        if "memory" in amounts:
            return amounts["memory"]
    return None
