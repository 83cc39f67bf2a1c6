"""The code of a run as Secrets of the cluster, and the volume that Ray's pods read it from.

A Secret holds one mebibyte. A larger archive is cut into parts, a Secret each; an init container puts them together,
because Ray takes an archive as one file. The first Secret belongs to the RayJobs that use the code and the others
belong to it, so that all of them go with the last RayJob.
"""

from __future__ import annotations

import base64
from typing import Final

from rayward.changes.outcomes import Conflict
from rayward.changes.packing import Package
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client import errors, verbs
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.core.resource import SECRETS
from rayward.kube.machinery.jsonvalue import Object, entries, section

MANAGER: Final = "rayward"
PART: Final = 1_000_000
"""Bytes of the archive in one Secret: what it may hold, less its names."""
_VOLUME: Final = "rayward-code"
_PARTS: Final = "rayward-code-parts"
_FOLDER: Final = "/rayward/code"
_PARTS_FOLDER: Final = "/rayward/parts"
_KEY: Final = "working-dir.zip"
_TYPE: Final = labels.WORKING_DIR


def path_of(package: Package) -> str:
    """Where a pod finds the archive. Ray knows a package by its URI: other content must have another name."""
    return f"{_FOLDER}/{package.digest}.zip"


def secret_names(package: Package) -> tuple[str, ...]:
    """The Secrets of an archive: the same for the same content, so that it is uploaded once."""
    count = len(_parts(package))
    first = f"rayward-code-{package.digest}"
    return (first, *(f"{first}-{number}" for number in range(1, count)))


def mounted(pod: Object, package: Package) -> None:
    """Have the first container of a pod find the archive."""
    container: Object = pod["containers"][0]
    container["volumeMounts"] = [{"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}]
    names = secret_names(package)
    if len(names) == 1:
        item = {"key": _KEY, "path": f"{package.digest}.zip"}
        pod["volumes"] = [{"name": _VOLUME, "secret": {"secretName": names[0], "items": [item]}}]
        return
    # a shell lists files in the order of their names
    sources = [
        {"secret": {"name": name, "items": [{"key": _KEY, "path": f"{number:03}"}]}}
        for number, name in enumerate(names)
    ]
    pod["volumes"] = [{"name": _PARTS, "projected": {"sources": sources}}, {"name": _VOLUME, "emptyDir": {}}]
    amounts = section(section(container, "resources"), "requests")
    needs = {name: amounts[name] for name in ("cpu", "memory") if name in amounts}
    pod["initContainers"] = [
        {
            "name": _VOLUME,
            "image": container["image"],
            "command": ["sh", "-c", f"cat {_PARTS_FOLDER}/* > {path_of(package)}"],
            "resources": {"requests": needs, "limits": needs},
            "volumeMounts": [
                {"name": _PARTS, "mountPath": _PARTS_FOLDER, "readOnly": True},
                {"name": _VOLUME, "mountPath": _FOLDER},
            ],
        }
    ]


def used_by(job: Object) -> tuple[str, ...]:
    """The Secrets that hold the code of a RayJob, the one that the others belong to first."""
    head = section(section(section(job, "spec"), "rayClusterSpec"), "headGroupSpec")
    found: list[str] = []
    for volume in entries(section(section(head, "template"), "spec"), "volumes"):
        if volume.get("name") == _VOLUME:
            found.append(str(section(volume, "secret").get("secretName") or ""))
        elif volume.get("name") == _PARTS:
            sources = entries(section(volume, "projected"), "sources")
            found += [str(section(source, "secret").get("name") or "") for source in sources]
    return tuple(name for name in found if name)


def upload(namespace: str, package: Package) -> Operation[None]:
    """Make the Secrets that are not there yet.

    Raises:
        Conflict: One is there with another content.
    """
    first: Object | None = None
    for name, part in zip(secret_names(package), _parts(package), strict=True):
        metadata: Object = {"name": name, "namespace": namespace}
        if first is not None:
            metadata["ownerReferences"] = [_owner("v1", "Secret", first)]
        body: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "type": _TYPE,
            "immutable": True,
            "data": {_KEY: base64.b64encode(part).decode()},
        }
        there = yield from _have(namespace, name, body)
        first = first or there


def own(secret: str, job: Object) -> Operation[None]:
    """Have the code go with the last RayJob that uses it."""
    owner = _owner(RAY_JOBS.api_version, RAY_JOBS.kind, job)
    change: Object = {"metadata": {"ownerReferences": [owner]}}
    options = PatchOptions(field_manager=MANAGER)
    namespace = section(job, "metadata")["namespace"]
    yield Send(verbs.patch(SECRETS, secret, change, PatchType.STRATEGIC, namespace, **options))


def _have(namespace: str, name: str, body: Object) -> Operation[Object]:
    try:
        there: Object = yield Send(verbs.get(SECRETS, name, namespace))
    except errors.NotFound:
        try:
            made: Object = yield Send(verbs.create(SECRETS, body, namespace, field_manager=MANAGER))
        except errors.AlreadyExists:
            there = yield Send(verbs.get(SECRETS, name, namespace))
        else:
            return made
    if section(there, "data") != body["data"]:
        what = f"Secret {namespace}/{name} has the name of this code and another content"
        raise Conflict(what, "", f"kubectl delete secret -n {namespace} {name}")
    return there


def _owner(api_version: str, kind: str, found: Object) -> Object:
    metadata = section(found, "metadata")
    return {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}


def _parts(package: Package) -> tuple[bytes, ...]:
    return tuple(package.data[start : start + PART] for start in range(0, len(package.data), PART))
