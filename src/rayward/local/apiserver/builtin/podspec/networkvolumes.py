"""Volume sources that some storage system behind the network provides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import invalid, not_supported, required, too_long
from rayward.kube.machinery.names import check_dns1123_subdomain
from rayward.local.apiserver.builtin.check import Errors, dns_label, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.formats import range_text

Spec = Mapping[str, Any]

_INITIATOR = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z\-.]+)(:[^,;*&$|\s]+)$"),
    "eui": re.compile(r"^eui.[0-9A-Za-z]{16}$"),
    "naa": re.compile(r"^naa.[0-9A-Za-z]{32}$"),
}
_AZURE_CACHING = ("None", "ReadOnly", "ReadWrite")
_AZURE_KINDS = ("Dedicated", "Managed", "Shared")
_PAIR = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_QUOBYTE_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"


def _needs(source: Spec, at: str, out: Errors, *fields: str) -> None:
    for field in fields:
        if not source.get(field):
            out.append(required(f"{at}.{field}"))


def _partition(source: Spec, at: str, out: Errors) -> None:
    value = source.get("partition") or 0
    if not 0 <= value <= 255:
        out.append(invalid(f"{at}.partition", value, range_text(1, 255)))


def gce(source: Spec, at: str, out: Errors) -> None:
    """A Google Compute Engine disk."""
    _needs(source, at, out, "pdName")
    _partition(source, at, out)


def aws(source: Spec, at: str, out: Errors) -> None:
    """An Amazon block store."""
    _needs(source, at, out, "volumeID")
    _partition(source, at, out)


def nfs(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "server", "path")
    path = source.get("path") or ""
    if not path.startswith("/"):
        out.append(invalid(f"{at}.path", path, "must be an absolute path"))


def iscsi(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "targetPortal")
    iqn = source.get("iqn") or ""
    if not iqn:
        out.append(required(f"{at}.iqn"))
    else:
        _initiator(iqn, f"{at}.iqn", out)
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        out.append(invalid(f"{at}.lun", lun, range_text(0, 255)))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        out.append(required(f"{at}.secretRef"))
    if source.get("initiatorName") is not None:
        _initiator(source["initiatorName"], f"{at}.initiatorname", out)


def _initiator(value: str, at: str, out: Errors) -> None:
    pattern = _INITIATOR.get(value[:3])
    if pattern is None:
        out.append(invalid(at, value, "must be valid format starting with iqn, eui, or naa"))
    elif not pattern.search(value):
        out.append(invalid(at, value, "must be valid format"))


def glusterfs(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "endpoints", "path")


def flocker(source: Spec, at: str, out: Errors) -> None:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uid:
        out.append(required(at, "one of datasetName and datasetUUID is required"))
    if name and uid:
        out.append(invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        out.append(invalid(f"{at}.datasetName", name, "must not contain '/'"))


def rbd(source: Spec, at: str, out: Errors) -> None:
    """A Ceph block device."""
    _needs(source, at, out, "monitors", "image")


def cinder(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "volumeID")
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        out.append(required(f"{at}.secretRef.name"))


def cephfs(source: Spec, at: str, out: Errors) -> None:
    """A Ceph file system."""
    _needs(source, at, out, "monitors")


def quobyte(source: Spec, at: str, out: Errors) -> None:
    registry = source.get("registry") or ""
    if not registry:
        out.append(required(f"{at}.registry", _QUOBYTE_REGISTRY))
    elif len(source.get("tenant") or "") >= 65:
        out.append(required(f"{at}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        wrong = invalid(f"{at}.registry", registry, _QUOBYTE_REGISTRY)
        out += [wrong for pair in registry.split(",") if not _PAIR.fullmatch(pair)]
    _needs(source, at, out, "volume")


def fibre_channel(source: Spec, at: str, out: Errors) -> None:
    """A Fibre Channel disk."""
    names, ids, lun = source.get("targetWWNs") or NO_ITEMS, source.get("wwids") or NO_ITEMS, source.get("lun")
    if not names and not ids:
        out.append(required(f"{at}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        out.append(invalid(f"{at}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously"))
    if names:
        if lun is None:
            out.append(required(f"{at}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            out.append(invalid(f"{at}.lun", lun, range_text(0, 255)))


def flex(source: Spec, at: str, out: Errors) -> None:
    """A volume of an external plugin."""
    _needs(source, at, out, "driver")
    for key in source.get("options") or NO_ITEMS:
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            out.append(invalid(f"{at}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved"))


def azure_file(source: Spec, at: str, out: Errors) -> None:
    """An Azure file share."""
    _needs(source, at, out, "secretName", "shareName")


def azure_disk(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "diskName", "diskURI")
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _AZURE_CACHING:
        out.append(not_supported(f"{at}.cachingMode", caching, list(_AZURE_CACHING)))
    if kind is not None and kind not in _AZURE_KINDS:
        out.append(not_supported(f"{at}.kind", kind, list(_AZURE_KINDS)))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        out.append(not_supported(f"{at}.diskURI", uri, [form]))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        out.append(not_supported(f"{at}.diskURI", uri, [form]))


def vsphere(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "volumePath")


def photon(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "pdID")


def portworx(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "volumeID")


def scale_io(source: Spec, at: str, out: Errors) -> None:
    _needs(source, at, out, "gateway", "system", "volumeName")


def storageos(source: Spec, at: str, out: Errors) -> None:
    if not source.get("volumeName"):
        out.append(required(f"{at}.volumeName"))
    else:
        dns_label(source["volumeName"], f"{at}.volumeName", out)
    if source.get("volumeNamespace"):
        dns_label(source["volumeNamespace"], f"{at}.volumeNamespace", out)
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        out.append(required(f"{at}.secretRef.name"))


def csi(source: Spec, at: str, out: Errors) -> None:
    """A volume of a storage driver, inline in the pod."""
    driver = source.get("driver") or ""
    if not driver:
        out.append(required(f"{at}.driver"))
    else:
        if len(driver.encode()) > 63:
            out.append(too_long(f"{at}.driver", 63))
        for message in check_dns1123_subdomain(driver.lower()):
            out.append(invalid(f"{at}.driver", driver, message))
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        if not secret.get("name"):
            out.append(required(f"{at}.nodePublishSecretRef.name"))
        else:
            fits(check_dns1123_subdomain, secret["name"], f"{at}.name", out)
