"""Volumes of a pod: one source each, unique names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import duplicate, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver.builtin.check import Errors, dns_label
from rayward.local.apiserver.builtin.claim import spec as claimspec
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.podspec import networkvolumes
from rayward.local.apiserver.builtin.podspec.paths import descending, file_mode, no_backsteps
from rayward.local.apiserver.builtin.podspec.projected import (
    check_downward_file,
    check_key_to_path,
    check_projected,
)

Spec = Mapping[str, Any]
Volumes = dict[str, Spec]

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def check_volumes(volumes: Sequence[Spec], pod_name: str, at: str, out: Errors, *, is_pod: bool) -> Volumes:
    """The valid volumes by name, so that mounts can be looked up."""
    created = {f"{pod_name}-{v.get('name', '')}" for v in volumes if v.get("ephemeral") is not None} if pod_name else ()
    valid: Volumes = {}
    for index, volume in enumerate(volumes):
        here = f"{at}[{index}]"
        name = volume.get("name") or ""
        found: Errors = []
        _check_source(volume, here, found, pod_name, is_pod=is_pod)
        if not name:
            found.append(required(f"{here}.name"))
        else:
            dns_label(name, f"{here}.name", found)
        if name in valid:
            found.append(duplicate(f"{here}.name", name))
        if found:
            out += found
        else:
            valid[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and claim.get("claimName") in created:
            out.append(
                invalid(
                    f"{here}.persistentVolumeClaim.claimName",
                    claim.get("claimName"),
                    "must not reference a PVC that gets created for an ephemeral volume",
                )
            )
    return valid


def _check_source(volume: Spec, at: str, out: Errors, pod_name: str, *, is_pod: bool) -> None:
    chosen = False
    for source in volume:
        if source == "name":
            continue
        break
    else:
        out.append(required(at, "must specify a volume type"))
        return
    for source, check in _SOURCES.items():
        value = volume.get(source)
        if value is None:
            continue
        if chosen:
            out.append(forbidden(f"{at}.{_REFUSED_AS.get(source, source)}", "may not specify more than 1 volume type"))
        else:
            chosen = True
            check(value, f"{at}.{_CHECKED_AS.get(source, source)}", out)
            if source == "ephemeral" and pod_name and volume.get("name"):
                claim = f"{pod_name}-{volume['name']}"
                for message in check_dns1123_subdomain(claim):
                    out.append(invalid(f"{at}.name", volume["name"], f'PVC name "{claim}": {message}'))
            if source == "image" and is_pod and not value.get("reference"):
                out.append(required(f"{at}.image.reference"))
        if source == "iscsi":
            _check_iscsi_length(volume, at, out)


def _check_iscsi_length(volume: Spec, at: str, out: Errors) -> None:
    iscsi, name = volume["iscsi"], volume.get("name") or ""
    if iscsi.get("initiatorName") is not None and len(f"{name}:{iscsi.get('targetPortal') or ''}") > 64:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        out.append(invalid(f"{at}.name", name, text))


def _empty_dir(source: Spec, at: str, out: Errors) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and parse(limit).unscaled < 0:
        out.append(forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def _host_path(source: Spec, at: str, out: Errors) -> None:
    path = source.get("path") or ""
    if not path:
        out.append(required(f"{at}.path"))
        return
    no_backsteps(path, f"{at}.path", out)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        out.append(not_supported(f"{at}.type", kind, list(_HOST_PATH_TYPES)))


def _git_repo(source: Spec, at: str, out: Errors) -> None:
    if not source.get("repository"):
        out.append(required(f"{at}.repository"))
    descending(source.get("directory") or "", f"{at}.directory", out)


def _secret(source: Spec, at: str, out: Errors) -> None:
    if not source.get("secretName"):
        out.append(required(f"{at}.secretName"))
    file_mode(source.get("defaultMode"), f"{at}.defaultMode", out)
    for index, item in enumerate(source.get("items") or NO_ITEMS):
        check_key_to_path(item, f"{at}.items[{index}]", out)


def _config_map(source: Spec, at: str, out: Errors) -> None:
    if not source.get("name"):
        out.append(required(f"{at}.name"))
    file_mode(source.get("defaultMode"), f"{at}.defaultMode", out)
    for index, item in enumerate(source.get("items") or NO_ITEMS):
        check_key_to_path(item, f"{at}.items[{index}]", out)


def _downward_api(source: Spec, at: str, out: Errors) -> None:
    file_mode(source.get("defaultMode"), f"{at}.defaultMode", out)
    for item in source.get("items") or NO_ITEMS:
        check_downward_file(item, at, out)


def _claim(source: Spec, at: str, out: Errors) -> None:
    if not source.get("claimName"):
        out.append(required(f"{at}.claimName"))


def _ephemeral(source: Spec, at: str, out: Errors) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        out.append(required(f"{at}.volumeClaimTemplate"))
    else:
        claimspec.check_template(template, f"{at}.volumeClaimTemplate", out)


def _image(source: Spec, at: str, out: Errors) -> None:
    pull_policy(source.get("pullPolicy") or "", f"{at}.pullPolicy", out)


def pull_policy(value: str, at: str, out: Errors) -> None:
    """When an image is pulled."""
    if not value:
        out.append(required(at))
    elif value not in PULL_POLICIES:
        out.append(not_supported(at, value, list(PULL_POLICIES)))


# In the order in which Kubernetes looks at them; some paths differ from the field's name there.
_SOURCES: Mapping[str, Callable[[Spec, str, Errors], None]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": networkvolumes.gce,
    "awsElasticBlockStore": networkvolumes.aws,
    "secret": _secret,
    "nfs": networkvolumes.nfs,
    "iscsi": networkvolumes.iscsi,
    "glusterfs": networkvolumes.glusterfs,
    "flocker": networkvolumes.flocker,
    "persistentVolumeClaim": _claim,
    "rbd": networkvolumes.rbd,
    "cinder": networkvolumes.cinder,
    "cephfs": networkvolumes.cephfs,
    "quobyte": networkvolumes.quobyte,
    "downwardAPI": _downward_api,
    "fc": networkvolumes.fibre_channel,
    "flexVolume": networkvolumes.flex,
    "configMap": _config_map,
    "azureFile": networkvolumes.azure_file,
    "vsphereVolume": networkvolumes.vsphere,
    "photonPersistentDisk": networkvolumes.photon,
    "portworxVolume": networkvolumes.portworx,
    "azureDisk": networkvolumes.azure_disk,
    "storageos": networkvolumes.storageos,
    "projected": check_projected,
    "scaleIO": networkvolumes.scale_io,
    "csi": networkvolumes.csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
_REFUSED_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_CHECKED_AS = {"gcePersistentDisk": "persistentDisk"}
