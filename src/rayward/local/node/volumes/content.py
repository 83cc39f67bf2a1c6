"""The files of volumes that are made from objects. Pure, but for the tokens that are handed in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

import msgspec

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity
from rayward.local.node.container.downward import NoSuchField, field_value, resource_value
from rayward.local.node.container.environment import Find

_DEFAULT_MODE: Final = 0o644
_NO_KEY: Final = {
    "configmap": "configmap references non-existent config key",
    "secret": "references non-existent secret key",
}
KINDS: Final = ("configMap", "secret", "downwardAPI", "projected")


class VolumeError(Exception):
    """A volume cannot be made; the text is for the user, in the kubelet's words."""


class File(msgspec.Struct, frozen=True):
    """One file of a volume."""

    data: bytes
    mode: int = _DEFAULT_MODE


Files = dict[str, File]


class Sources(msgspec.Struct, frozen=True):
    """Where contents come from; ``tokens`` are of projected sources, by audience and seconds."""

    config_map: Find
    secret: Find
    allocatable: Mapping[str, Quantity]
    tokens: Mapping[tuple[str, int], str]


def is_made_from_objects(volume: Object) -> bool:
    """Whether ``files`` knows this kind of volume."""
    return any(volume.get(kind) is not None for kind in KINDS)


def tokens_wanted(volume: Object) -> list[tuple[str, int]]:
    """The service account tokens in a volume: audience and seconds."""
    sources = entries(section(volume, "projected"), "sources")
    wanted = (source["serviceAccountToken"] for source in sources if source.get("serviceAccountToken"))
    return [(one.get("audience") or "", one.get("expirationSeconds") or 3600) for one in wanted]


def files(pod: Object, volume: Object, sources: Sources) -> Files:
    """The files of a volume.

    Raises:
        VolumeError: Something that is named is not there.
    """
    if (source := volume.get("configMap")) is not None:
        mode = source.get("defaultMode", _DEFAULT_MODE)
        return _of_config_map(pod, {**source, "name": source.get("name", "")}, mode, sources)
    if (source := volume.get("secret")) is not None:
        mode = source.get("defaultMode", _DEFAULT_MODE)
        return _of_secret(pod, {**source, "name": source["secretName"]}, mode, sources)
    if (source := volume.get("downwardAPI")) is not None:
        return _of_pod(pod, source, source.get("defaultMode", _DEFAULT_MODE), sources)
    return _projected(pod, volume["projected"], sources)


def _projected(pod: Object, projection: Object, sources: Sources) -> Files:
    mode = projection.get("defaultMode", _DEFAULT_MODE)
    made: Files = {}
    for source in entries(projection, "sources"):
        if (inner := source.get("configMap")) is not None:
            made.update(_of_config_map(pod, inner, mode, sources))
        elif (inner := source.get("secret")) is not None:
            made.update(_of_secret(pod, inner, mode, sources))
        elif (inner := source.get("downwardAPI")) is not None:
            made.update(_of_pod(pod, inner, mode, sources))
        elif (inner := source.get("serviceAccountToken")) is not None:
            key = (inner.get("audience") or "", inner.get("expirationSeconds") or 3600)
            # The kubelet narrows a token's file to its owner, whatever the volume says.
            made[inner["path"]] = File(sources.tokens[key].encode(), 0o600 if mode == _DEFAULT_MODE else mode)
        else:
            kind = next(iter(source), "nothing")
            raise VolumeError(f'source "{kind}" of a projected volume is not supported')
    return made


def _of_config_map(pod: Object, source: Object, mode: int, sources: Sources) -> Files:
    namespace = pod["metadata"]["namespace"]
    found = sources.config_map(namespace, source["name"])
    if found is None:
        if source.get("optional"):
            return {}
        raise VolumeError(f'configmap "{source["name"]}" not found')
    data = {name: text.encode() for name, text in section(found, "data").items()}
    data |= {name: base64.b64decode(text) for name, text in section(found, "binaryData").items()}
    return _chosen(data, source, mode, "configmap")


def _of_secret(pod: Object, source: Object, mode: int, sources: Sources) -> Files:
    namespace = pod["metadata"]["namespace"]
    found = sources.secret(namespace, source["name"])
    if found is None:
        if source.get("optional"):
            return {}
        raise VolumeError(f'secret "{source["name"]}" not found')
    data = {name: base64.b64decode(text) for name, text in section(found, "data").items()}
    return _chosen(data, source, mode, "secret")


def _chosen(data: Mapping[str, bytes], source: Object, mode: int, kind: str) -> Files:
    items = source.get("items")
    if not items:
        return {name: File(value, mode) for name, value in data.items()}
    made: Files = {}
    for item in items:
        if item["key"] in data:
            made[item["path"]] = File(data[item["key"]], _mode(item, mode))
        elif not source.get("optional"):
            raise VolumeError(f"{_NO_KEY[kind]}: {item['key']}")
    return made


def _of_pod(pod: Object, source: Object, mode: int, sources: Sources) -> Files:
    made: Files = {}
    for item in entries(source, "items"):
        try:
            if (reference := item.get("fieldRef")) is not None:
                text = field_value(pod, reference["fieldPath"])
            else:
                text = resource_value(pod["spec"], item["resourceFieldRef"], sources.allocatable)
        except NoSuchField as error:
            raise VolumeError(str(error)) from error
        made[item["path"]] = File(text.encode(), _mode(item, mode))
    return made


def _mode(item: Object, otherwise: int) -> int:
    found = item.get("mode")
    return otherwise if found is None else found
