"""The node's own objects: a Node and a Lease for each simulated node, kept alive."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec

from rayward.kinds import labels
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.event import ObjectReference
from rayward.kube.core.meta import rfc3339, rfc3339_micro
from rayward.kube.core.resource import LEASES, NODES
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.runtime.events import EventRecorder
from rayward.local.node.machine import Shape, node_info
from rayward.local.node.sandbox.logfile import write_whole
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
LEASE_NAMESPACE: Final = "kube-node-lease"
_LEASE_SECONDS: Final = 40
_RENEW_SECONDS: Final = 10.0
_STATUS_EVERY: Final = 6
MOST_PODS: Final = 110
PROCESS: Final = labels.NODE_PROCESS
"""Label of a node: which process serves it. A later run knows by it the nodes that an earlier one left."""


class Identity(msgspec.Struct, frozen=True):
    name: str
    address: str
    network: str
    shape: Shape
    port: int
    process: str
    """The process that serves it, over all its restarts."""
    trouble: str = ""
    """Why no pod can run here."""


def own_process(data: Path) -> str:
    """The name of the process that has this data folder: made up once, the same after every restart."""
    path = data / "process"
    if not path.exists():
        write_whole(path, uuid4().hex.encode())
    return path.read_text()


def node_object(identity: Identity) -> Object:
    """The Node to create."""
    labels = {
        "beta.kubernetes.io/arch": node_info()["architecture"],
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": node_info()["architecture"],
        "kubernetes.io/hostname": identity.name,
        "kubernetes.io/os": "linux",
        PROCESS: identity.process,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": identity.name, "labels": labels},
        "spec": {"podCIDR": identity.network, "podCIDRs": [identity.network]},
    }


def node_status(identity: Identity, before: Object, now: datetime) -> Object:
    """The status to write; times of conditions move only when their status does."""
    resources = identity.shape.resources(MOST_PODS)
    return {
        "addresses": [
            {"type": "InternalIP", "address": identity.address},
            {"type": "Hostname", "address": identity.name},
        ],
        "allocatable": resources,
        "capacity": resources,
        "conditions": _conditions(identity, entries(before, "conditions"), now),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": identity.port}},
        # Tells kube-apiserver that exec, attach and port-forward may come as WebSockets.
        "declaredFeatures": ["ExtendWebSocketsToKubelet"],
        "nodeInfo": node_info(),
    }


def _conditions(identity: Identity, before: Any, now: datetime) -> list[Object]:
    told = {found["type"]: found for found in before}
    wanted = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    if identity.trouble:
        wanted[-1] = ("Ready", "False", "KubeletNotReady", identity.trouble)
    made: list[Object] = []
    for kind, status, reason, message in wanted:
        old = section(told, kind)
        since = old.get("lastTransitionTime") if old.get("status") == status else None
        made.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": rfc3339(now),
                "lastTransitionTime": since or rfc3339(now),
            }
        )
    return made


def _ready(status: Object) -> str:
    return next((found["status"] for found in entries(status, "conditions") if found["type"] == "Ready"), "")


class Registration:
    """Registers nodes, and says that they live."""

    def __init__(self, client: Client, identities: list[Identity], events: EventRecorder) -> None:
        self._client = client
        self._identities = identities
        self._events = events
        self._uids: dict[str, str] = {}

    async def register(self) -> None:
        """Create or refresh every Node."""
        for identity in self._identities:
            self._tell(identity, "Starting", "Starting kubelet.")
            await self._register(identity)

    async def run(self) -> None:
        beat = 0
        while True:
            for identity in self._identities:
                try:
                    await self._renew(identity)
                    if beat % _STATUS_EVERY == 0:
                        await self._register(identity)
                except (ApiError, NetworkError) as error:
                    _log.info("node %s: heartbeat failed: %s", identity.name, error)
            beat += 1
            await asyncio.sleep(_RENEW_SECONDS)

    async def _register(self, identity: Identity) -> None:
        try:
            found = await self._client.get(NODES, identity.name)
        except NotFound:
            try:
                found = await self._client.create(NODES, node_object(identity))
            except AlreadyExists:
                found = await self._client.get(NODES, identity.name)
        self._uids[identity.name] = found["metadata"]["uid"]
        if section(found["metadata"], "labels").get(PROCESS) != identity.process:
            labels = {"metadata": {"labels": {PROCESS: identity.process}}}
            await self._client.patch(NODES, identity.name, labels, PatchType.MERGE)
        before = section(found, "status")
        status = node_status(identity, before, datetime.now(UTC))
        await self._client.patch(NODES, identity.name, {"status": status}, PatchType.MERGE, subresource="status")
        if _ready(status) != _ready(before):
            reason = "NodeReady" if _ready(status) == "True" else "NodeNotReady"
            self._tell(identity, reason, f"Node {identity.name} status is now: {reason}")
        taints = entries(section(found, "spec"), "taints")
        kept = [taint for taint in taints if taint["key"] != "node.kubernetes.io/not-ready"]
        if kept != taints and not identity.trouble:
            await self._client.patch(NODES, identity.name, {"spec": {"taints": kept}}, PatchType.MERGE)

    def _tell(self, identity: Identity, reason: str, message: str) -> None:
        # kubectl looks for what is told of a node by its name, in place of its UID.
        about = ObjectReference(kind="Node", name=identity.name, uid=identity.name)
        self._events.record(about, "Normal", reason, message)

    async def _renew(self, identity: Identity) -> None:
        spec = {
            "holderIdentity": identity.name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": rfc3339_micro(datetime.now(UTC)),
        }
        try:
            await self._client.patch(LEASES, identity.name, {"spec": spec}, PatchType.MERGE, LEASE_NAMESPACE)
        except NotFound:
            owner = {
                "apiVersion": "v1",
                "kind": "Node",
                "name": identity.name,
                "uid": self._uids.get(identity.name, ""),
            }
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": identity.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
                "spec": spec,
            }
            try:
                await self._client.create(LEASES, lease, LEASE_NAMESPACE)
            except NotFound:
                _log.debug("no namespace %s yet", LEASE_NAMESPACE)
