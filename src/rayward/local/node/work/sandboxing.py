"""What a pod's sandbox is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.node.folders import PodFolder
from rayward.local.node.pod.facts import is_sidecar
from rayward.local.node.sandbox.logfile import write_whole
from rayward.local.node.volumes import place
from rayward.local.node.work import etc

_NOT_DONE: Final = {
    "shareProcessNamespace": "containers do not see each other's processes",
    "hostPID": "the pod sees its own processes only",
    "hostIPC": "the pod has its own shared memory",
    "runtimeClassName": "pods run as processes of this machine",
    "ephemeralContainers": "use exec instead",
}
_SHARED_MEMORY: Final = 64 * 1024 * 1024
_STATEMENTS: Final = 4 * 1024 * 1024


def all_containers(pod: Object) -> list[Object]:
    """Init containers and containers, in the order of their start."""
    return [*entries(pod["spec"], "initContainers"), *pod["spec"]["containers"]]


def container_named(pod: Object, name: str) -> Object:
    """One container of a pod."""
    return next(found for found in all_containers(pod) if found["name"] == name)


def is_plain_init(pod: Object, name: str) -> bool:
    """Whether a container is one that ends before the others start."""
    return any(found["name"] == name and not is_sidecar(found) for found in entries(pod["spec"], "initContainers"))


def told_statuses(pod: Object) -> dict[str, Object]:
    """What the API was last told of each container."""
    status = section(pod, "status")
    told = (*entries(status, "initContainerStatuses"), *entries(status, "containerStatuses"))
    return {found["name"]: found for found in told}


def unsupported(spec: Object) -> list[str]:
    """What a pod asks for that this node does not do, in words for an Event."""
    found: list[str] = []
    for field, effect in _NOT_DONE.items():
        if spec.get(field):
            found.append(f"{field} is not supported by this node: {effect}")
    for container in (*entries(spec, "initContainers"), *spec["containers"]):
        security = section(container, "securityContext")
        if security.get("privileged") or entries(section(security, "capabilities"), "add"):
            found.append(f"container {container['name']} gets no rights beyond those of its user on this machine")
        if any(port.get("hostPort") for port in entries(container, "ports")):
            found.append(
                f"the host ports of container {container['name']} are reserved, but not opened on this machine"
            )
    return found


def write_settings(folder: PodFolder, pod: Object, address: str, *, own_network: bool) -> Path:
    """Write what the sandbox host reads to make the sandbox, and the pod's own files of /etc."""
    of_host = Path("/etc/resolv.conf")
    own = folder.path / "etc"
    own.mkdir(parents=True, exist_ok=True)
    name = etc.hostname(pod)
    (own / "hosts").write_text(etc.hosts(pod, address))
    (own / "hostname").write_text(f"{name}\n")
    (own / "resolv.conf").write_text(etc.resolv_conf(pod, of_host.read_text() if of_host.exists() else ""))
    shared = folder.path / "shm"
    shared.mkdir(exist_ok=True)
    limit = _memory_limit(pod["spec"])
    folder.stated.mkdir(exist_ok=True)
    memory = [
        {"path": str(shared), "size": max(limit, _SHARED_MEMORY)},
        {"path": str(folder.stated), "size": _STATEMENTS},
    ]
    for volume in entries(pod["spec"], "volumes"):
        size = place.memory_size(volume, limit)
        if size is not None:
            memory.append({"path": str(folder.volume(volume["name"])), "size": size})
    settings = {
        "hostname": name,
        "address": address if own_network else "",
        "memory": memory,
        "sharedMemory": str(shared),
    }
    path = folder.path / "sandbox.json"
    write_whole(path, orjson.dumps(settings))
    return path


def _memory_limit(spec: Object) -> int:
    limits = [(section(section(container, "resources"), "limits")).get("memory") for container in spec["containers"]]
    if any(limit is None for limit in limits):
        return 0
    return sum(quantity.parse(limit).as_int() for limit in limits)
