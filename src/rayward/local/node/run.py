"""The node as a process: everything put together."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import Any

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.core.data import ConfigMap, Secret
from rayward.kube.core.lease import Lease
from rayward.kube.core.node import Node
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import CONFIG_MAPS, LEASES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS, SERVICES
from rayward.kube.core.service import Service
from rayward.kube.machinery.podrequests import amounts
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.reflector import Reflector
from rayward.local.node.agent import Agent
from rayward.local.node.capabilities import missing_in_child
from rayward.local.node.cgroups import Cgroups
from rayward.local.node.egress.names import address_of, namespace_of, service_key
from rayward.local.node.egress.proxy import Proxy
from rayward.local.node.endpoint.access import Gate
from rayward.local.node.endpoint.app import Endpoint
from rayward.local.node.endpoint.identity import certificate
from rayward.local.node.folders import Folders
from rayward.local.node.leftovers import Leftovers, left_behind
from rayward.local.node.machine import Shape
from rayward.local.node.registering import LEASE_NAMESPACE, MOST_PODS, Identity, Registration, own_process
from rayward.local.node.sandbox.pod import BRIDGE_ADDRESS
from rayward.local.node.sandboxes import SandboxError, Sandboxes
from rayward.local.node.scheduling.claims import Claim
from rayward.local.node.scheduling.loop import Scheduler
from rayward.local.node.work.host import Host, NodeInfo, Settings
from rayward.net.server import Server, listen
from rayward.net.websocket import WebSocket

_log = logging.getLogger(__name__)
_ADDRESS = "127.0.0.1"


class Options(msgspec.Struct, frozen=True):
    kubeconfig: Path
    data: Path
    names: tuple[str, ...]
    shape: Shape
    settings: Settings
    schedule: bool = True
    client_ca: Path | None = None
    """Whose clients may ask the endpoint, besides those of the API server's own authority."""


class NodeProcess:
    """Nodes of this machine, for one API server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._stop = asyncio.Event()
        self._authorities = [options.client_ca.read_text()] if options.client_ca else []
        self._cgroups = Cgroups.here(options.data)
        self.end_pods = False

    def request_stop(self, *, end_pods: bool) -> None:
        """Ask to end; pods end too, or go on."""
        self.end_pods = end_pods
        self._stop.set()

    async def run(self) -> None:
        """Until asked to stop."""
        options = self._options
        folders = Folders(options.data)
        sandboxes = Sandboxes(folders.data)
        trouble = await self._open(sandboxes)
        access = find_access(options.kubeconfig)
        if access.tls.authority:
            self._authorities.append(access.tls.authority)
        async with Client.connect(access, user_agent="rayward-node") as client, asyncio.TaskGroup() as tasks:
            await self._work(client, folders, sandboxes, trouble, tasks)
        if self.end_pods:
            await sandboxes.end()
            self._cgroups.clear()
        sandboxes.close()

    async def _open(self, sandboxes: Sandboxes) -> str:
        if await sandboxes.find():
            _log.info("sandbox host found")
            return ""
        found = await asyncio.to_thread(missing_in_child)
        if found:
            return "; ".join(found)
        try:
            await sandboxes.open()
        except SandboxError as error:
            return f"sandboxes for pods cannot be made: {error}"
        _log.info("sandbox host made")
        return ""

    async def _unless_stopped(self, awaited: asyncio.Future[Any]) -> bool:
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({awaited, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not awaited.done():
            awaited.cancel()
            return False
        await awaited
        return True

    async def _work(
        self, client: Client, folders: Folders, sandboxes: Sandboxes, trouble: str, tasks: asyncio.TaskGroup
    ) -> None:
        options = self._options
        pods: Cache[Pod] = Cache(PODS, Pod)
        nodes: Cache[Node] = Cache(NODES, Node)
        config_maps: Cache[ConfigMap] = Cache(CONFIG_MAPS, ConfigMap)
        secrets: Cache[Secret] = Cache(SECRETS, Secret)
        services: Cache[Service] = Cache(SERVICES, Service)
        claims: Cache[Claim] = Cache(PERSISTENT_VOLUME_CLAIMS, Claim, keep_raw=False)
        leases: Cache[Lease] = Cache(LEASES, Lease, keep_raw=False)
        caches: list[Cache[Any]] = [pods, nodes, config_maps, secrets, services, claims]
        reflectors = [Reflector(client, cache) for cache in caches]
        reflectors.append(Reflector(client, leases, namespace=LEASE_NAMESPACE))
        kubelet = EventRecorder(client, "kubelet", instance=options.names[0])
        scheduling = EventRecorder(client, "default-scheduler")
        listener = listen(_ADDRESS, 0)
        port = listener.getsockname()[1]
        process = own_process(folders.data)
        identities = [
            Identity(name, _ADDRESS, f"10.42.{number}.0/24", options.shape, port, process, trouble)
            for number, name in enumerate(options.names)
        ]
        allocatable = amounts(options.shape.resources(MOST_PODS))
        infos = {one.name: NodeInfo(one.name, one.address, one.network, allocatable) for one in identities}
        host = Host(
            client,
            sandboxes,
            folders,
            options.settings,
            infos,
            kubelet,
            self._cgroups,
            pods,
            config_maps,
            secrets,
            services,
        )
        agent = Agent(host, pods)

        def service_address(host: str, client: str) -> str | None:
            namespace = namespace_of(client, pods)
            key = service_key(host, namespace) if namespace is not None else None
            service = services.get(key) if key is not None else None
            return None if service is None else address_of(service, pods.in_namespace(service.metadata.namespace))

        proxy = Proxy(sandboxes, BRIDGE_ADDRESS, service_address)
        if not trouble:
            await proxy.start()
            sandboxes.renewals.append(proxy.start)
        endpoint = Endpoint(agent, Gate(client, options.names[0]))
        tls = certificate(folders.data, options.names, self._authorities)
        server = Server(endpoint, listener, tls, websocket=WebSocket)
        registration = Registration(client, identities, kubelet)
        running = [tasks.create_task(reflector.run()) for reflector in reflectors]
        running += [tasks.create_task(kubelet.run()), tasks.create_task(scheduling.run())]
        if not await self._unless_stopped(asyncio.gather(*(reflector.wait_synced() for reflector in reflectors))):
            # An API server that is away must not keep us from ending.
            await proxy.stop()
            for task in running:
                task.cancel()
            return
        await server.start()
        await registration.register()
        await Leftovers(host).clear(left_behind(nodes, process, options.names))
        running.append(tasks.create_task(registration.run()))
        if not trouble:
            await agent.adopt()
            agent.start()
            for cache in (config_maps, secrets, claims):
                cache.subscribe(agent.refresh)
        if options.schedule:
            served = frozenset(options.names)
            scheduler = Scheduler(client, pods, nodes, leases, claims, scheduling, served=served, trouble=trouble)
            running.append(tasks.create_task(scheduler.run()))
        _log.info("serving nodes %s", ", ".join(options.names))
        (folders.data / "ready").write_text("ready\n")
        await self._stop.wait()
        await server.stop()
        await proxy.stop()
        await agent.stop()
        for task in running:
            task.cancel()


async def serve(options: Options) -> None:
    """Run nodes until SIGTERM or SIGINT, which end the pods too, or SIGUSR1, which leaves them."""
    node = NodeProcess(options)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: node.request_stop(end_pods=True))
    loop.add_signal_handler(signal.SIGUSR1, lambda: node.request_stop(end_pods=False))
    await node.run()
