"""Where a container sees the pod's volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, not_found, not_supported, required
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.podspec.paths import descending

Spec = Mapping[str, Any]

_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def check_mounts(container: Spec, volumes: Mapping[str, Spec], at: str, out: Errors) -> None:
    """Mounts of file systems."""
    mounts: Sequence[Spec] = container.get("volumeMounts") or NO_ITEMS
    if not mounts:
        return
    devices = {
        device.get("name") or "": device.get("devicePath") or ""
        for device in container.get("volumeDevices") or NO_ITEMS
    }
    device_paths = frozenset(devices.values())
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{at}[{index}]"
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            out.append(required(f"{here}.name"))
        if name not in volumes:
            out.append(not_found(f"{here}.name", name))
        if not path:
            out.append(required(f"{here}.mountPath"))
        if path in taken:
            out.append(invalid(f"{here}.mountPath", path, "must be unique"))
        taken.add(path)
        if name in devices:
            out.append(invalid(f"{here}.name", name, "must not already exist in volumeDevices"))
        if path in device_paths:
            out.append(invalid(f"{here}.mountPath", path, "must not already exist as a path in volumeDevices"))
        _check_sub_paths(mount, here, at, out)
        _check_propagation(mount, container, f"{at}.mountPropagation", out)
        _check_recursive_read_only(mount, f"{at}.recursiveReadOnly", out)


def _check_sub_paths(mount: Spec, here: str, at: str, out: Errors) -> None:
    path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if path:
        descending(path, f"{at}.subPath", out)
    if expression:
        if path:
            out.append(invalid(f"{here}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"))
        descending(expression, f"{at}.subPathExpr", out)


def _check_propagation(mount: Spec, container: Spec, at: str, out: Errors) -> None:
    mode = mount.get("mountPropagation")
    if mode is None:
        return
    if mode not in _PROPAGATION:
        out.append(not_supported(at, mode, list(_PROPAGATION)))
    if mode == "Bidirectional" and not (container.get("securityContext") or NOTHING).get("privileged"):
        text = "Bidirectional mount propagation is available only to privileged containers"
        out.append(forbidden(at, text))


def _check_recursive_read_only(mount: Spec, at: str, out: Errors) -> None:
    mode = mount.get("recursiveReadOnly")
    if mode is None or mode == "Disabled":
        return
    if mode not in _READ_ONLY:
        out.append(not_supported(at, mode, list(_READ_ONLY)))
        return
    if not mount.get("readOnly"):
        out.append(forbidden(at, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        out.append(forbidden(at, "may only be specified when mountPropagation is None or not specified"))


def check_devices(container: Spec, volumes: Mapping[str, Spec], at: str, out: Errors) -> None:
    devices: Sequence[Spec] = container.get("volumeDevices") or NO_ITEMS
    if not devices:
        return
    mounts = {
        mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or NO_ITEMS
    }
    mount_paths = frozenset(mounts.values())
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        here = f"{at}[{index}]"
        name, path = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            out.append(required(f"{here}.name"))
        if name in names:
            out.append(invalid(f"{here}.name", name, "must be unique"))
        if volume is None:
            out.append(not_found(f"{here}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            out.append(invalid(f"{here}.name", name, text))
        if not path:
            out.append(required(f"{here}.devicePath"))
        if path in paths:
            out.append(invalid(f"{here}.devicePath", path, "must be unique"))
        if ".." in path.split("/"):
            out.append(invalid(f"{here}.devicePath", path, "can not contain backsteps ('..')"))
        else:
            paths.add(path)
        if name in mounts:
            out.append(invalid(f"{here}.name", name, "must not already exist in volumeMounts"))
        if path in mount_paths:
            out.append(invalid(f"{here}.devicePath", path, "must not already exist as a path in volumeMounts"))
        if name:
            names.add(name)
