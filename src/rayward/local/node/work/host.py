"""What all workers of a node process share."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.core.data import ConfigMap, Secret
from rayward.kube.core.event import ObjectReference
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.events import EventRecorder
from rayward.local.node.cgroups import Cgroups
from rayward.local.node.folders import Folders
from rayward.local.node.sandboxes import Sandboxes
from rayward.local.node.scheduling.admit import rejection
from rayward.local.node.scheduling.model import is_over

GPU: Final = "nvidia.com/gpu"
_FIRST_ADDRESS: Final = 2


class Settings(msgspec.Struct, frozen=True):
    """What the user chose."""

    environments: Mapping[str, str]
    """Images and the Python environments that stand for them."""
    default_environment: str = ""
    """What stands for every other image; without one, such an image cannot be pulled."""
    project: Path | None = None
    """The one folder of the host that pods may write to."""
    hidden: tuple[str, ...] = ()
    """Folders and files of the host that no pod may see."""
    log_size: int = 10 * 1024 * 1024
    log_files: int = 5
    variables: Mapping[str, str] = {}
    """Given to every container: egress through the node's proxy."""


class Addresses:
    """Addresses of pods: a range of 256 per node, the longest unused first."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, network: str) -> str:
        """A free address of ``network``."""
        hosts = list(ipaddress.ip_network(network).hosts())
        begin = self._last.get(network, _FIRST_ADDRESS - 2)
        for step in range(1, len(hosts) + 1):
            index = (begin + step) % len(hosts)
            found = str(hosts[index])
            if index >= _FIRST_ADDRESS - 1 and found not in self._taken:
                self._taken.add(found)
                self._last[network] = index
                return found
        raise LookupError(f"all addresses of {network} are in use")

    def keep(self, address: str) -> None:
        """This one is in use already."""
        self._taken.add(address)

    def free(self, address: str) -> None:
        """This one is no longer in use."""
        self._taken.discard(address)


class Graphics:
    """GPUs of simulated nodes, given by number to containers."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts
        self._owners: dict[tuple[str, int], tuple[str, str]] = {}

    def take(self, node: str, pod: str, container: Object) -> tuple[int, ...]:
        """The GPUs of a container: those it had, or the lowest that are free.

        Raises:
            LookupError: The node has too few that are free.
        """
        owner = (pod, container["name"])
        wanted = int(str(section(section(container, "resources"), "limits").get(GPU) or 0))
        numbers = range(self._counts.get(node, 0))
        held = [number for number in numbers if self._owners.get((node, number)) == owner]
        free = [number for number in numbers if (node, number) not in self._owners]
        chosen = (*held, *free)[:wanted]
        if len(chosen) < wanted:
            raise LookupError(f"{len(free)} of {len(numbers)} GPUs are free: waiting for those of a pod that is ending")
        self.keep(node, *owner, chosen)
        return tuple(sorted(chosen))

    def keep(self, node: str, pod: str, container: str, numbers: Iterable[int]) -> None:
        """These are in use."""
        self._owners |= {(node, number): (pod, container) for number in numbers}

    def free(self, pod: str, container: str = "") -> None:
        """A pod, or one of its containers, no longer needs its own."""
        self._owners = {
            place: owner for place, owner in self._owners.items() if owner[0] != pod or container not in ("", owner[1])
        }


class NodeInfo(msgspec.Struct, frozen=True):
    """One simulated node, as its pods see it."""

    name: str
    address: str
    network: str
    allocatable: Mapping[str, Quantity]


class Host:
    """The API as the node sees it, the sandboxes, and the settings."""

    def __init__(
        self,
        client: Client,
        sandboxes: Sandboxes,
        folders: Folders,
        settings: Settings,
        nodes: Mapping[str, NodeInfo],
        events: EventRecorder,
        cgroups: Cgroups,
        pods: Cache[Pod],
        config_maps: Cache[ConfigMap],
        secrets: Cache[Secret],
        services: Cache[Service],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.client = client
        self.sandboxes = sandboxes
        self.folders = folders
        self.settings = settings
        self.nodes = nodes
        self.addresses = Addresses()
        self.graphics = Graphics(
            {name: node.allocatable[GPU].as_int() for name, node in nodes.items() if GPU in node.allocatable}
        )
        self.cgroups = cgroups
        self.pods = pods
        self.now = now
        self._events = events
        self._config_maps = config_maps
        self._secrets = secrets
        self._services = services

    def config_map(self, namespace: str, name: str) -> Object | None:
        return self._config_maps.whole(Key(namespace, name))

    def secret(self, namespace: str, name: str) -> Object | None:
        return self._secrets.whole(Key(namespace, name))

    def services(self) -> list[Object]:
        return [whole for found in self._services if (whole := self._services.whole(found.key)) is not None]

    def rejection(self, pod: Object, node: NodeInfo) -> tuple[str, str] | None:
        """Why a pod that was just given to a node cannot stay there."""
        others: list[Object] = []
        for found in self.pods:
            # Those that the node took already, and only those: who came first is served first.
            if found.spec.node_name == node.name and found.status.start_time and found.key != _key(pod):
                whole = self.pods.whole(found.key)
                if whole is not None and not is_over(whole):
                    others.append(whole)
        return rejection(pod, others, node.allocatable)

    def tell(
        self, pod: Object, kind: Literal["Normal", "Warning"], reason: str, message: str, container: str = ""
    ) -> None:
        """Write an Event about a pod, or one of its containers."""
        metadata = pod["metadata"]
        reference = ObjectReference(
            api_version="v1",
            kind="Pod",
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata.get("resourceVersion", ""),
            field_path=_field(pod, container),
        )
        self._events.record(reference, kind, reason, message)


def _key(pod: Object) -> Key:
    return Key(pod["metadata"]["namespace"], pod["metadata"]["name"])


def _field(pod: Object, container: str) -> str:
    if not container:
        return ""
    inits = (found["name"] for found in entries(pod["spec"], "initContainers"))
    return f"spec.{'initContainers' if container in inits else 'containers'}{{{container}}}"
