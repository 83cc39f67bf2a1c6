"""The traffic as a process: everything put together."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import ENDPOINT_SLICES, SERVICES
from rayward.kube.core.service import EndpointSlice, Service
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.kube.runtime.reflector import Reflector
from rayward.kube.runtime.scraping import write_target
from rayward.local.traffic import endpoints, publish
from rayward.local.traffic.dns.forward import Forwarder, own_resolvers
from rayward.local.traffic.dns.server import NameServer
from rayward.local.traffic.frontends import LOOPBACK, Frontends, Trouble
from rayward.local.traffic.listeners import Listeners
from rayward.local.traffic.metrics import MetricsPage
from rayward.local.traffic.place import Host, PodNetwork
from rayward.local.traffic.publish import Seen
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.standby import Standby
from rayward.local.traffic.table import SERVICE_NAME, Table
from rayward.net.server import Server, listen

_log = logging.getLogger(__name__)
_MANAGER: Final = "rayward-traffic"
_SETTLE_SECONDS: Final = 0.02
_AGAIN_SECONDS: Final = 5.0
_SEARCH_SECONDS: Final = 0.2
_GRACE_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.02
_MOST_CLIENTS: Final = 8192
_PER_CLIENT: Final = 2
_RESERVED: Final = 512


class _View:
    """The caches, as the name server looks at them."""

    def __init__(self, services: Cache[Service], slices: Cache[EndpointSlice]) -> None:
        self._services = services
        self._slices = slices

    def service(self, key: Key) -> Service | None:
        return self._services.get(key)

    def services(self, namespace: str | None = None) -> Iterable[Service]:
        return self._services if namespace is None else self._services.in_namespace(namespace)

    def slices(self, key: Key) -> Sequence[EndpointSlice]:
        return self._slices.find("service", f"{key.namespace}/{key.name}")


class Traffic:
    """The services of one API server."""

    def __init__(self, client: Client, data: Path, api_server: tuple[str, int], ready: Path) -> None:
        loop = asyncio.get_running_loop()
        self._client = client
        self._data = data
        self._ready = ready
        self._ended = asyncio.Event()
        self._services: Cache[Service] = Cache(SERVICES, Service, keep_raw=False)
        self._slices: Cache[EndpointSlice] = Cache(
            ENDPOINT_SLICES, EndpointSlice, keep_raw=False, indexes={"service": by_label(SERVICE_NAME)}
        )
        self._host = Host()
        self._pod_network = PodNetwork(data, self._pod_network_lost)
        self._sessions = Sessions(_room())
        self._events = EventRecorder(client, _MANAGER)
        self._controller = Controller("traffic", self._reconcile, workers=8)
        places = (self._host, self._pod_network)
        self._table = Table(self._services, self._slices, places, api_server, self._note, loop.time)
        self._listeners = Listeners()
        self._frontends = Frontends(self._table, self._sessions, self._host, self._pod_network, self._listeners)
        resolvers = Forwarder(own_resolvers(), loop.time)
        self._names = NameServer(_View(self._services, self._slices), resolvers, self._listeners)
        self._lost = asyncio.Event()

    def request_stop(self) -> None:
        self._ended.set()

    async def run(self) -> None:
        """Until asked to stop: first as the standby of another process, where there is one, then serving."""
        self._ready.unlink(missing_ok=True)
        async with asyncio.TaskGroup() as tasks:
            reflectors = [Reflector(self._client, self._services), Reflector(self._client, self._slices)]
            running = [tasks.create_task(reflector.run()) for reflector in reflectors]
            running += [tasks.create_task(self._events.run()), tasks.create_task(self._sessions.watch())]
            for reflector in reflectors:
                await reflector.wait_synced()
            self._table.follow()
            if await self._take_turn():
                await self._serve(tasks, running)
            self._ready.unlink(missing_ok=True)
            for task in running:
                task.cancel()
        self._sessions.close()
        self._pod_network.close()

    async def _take_turn(self) -> bool:
        """Wait until nobody else serves; False if asked to stop before that."""
        turn = asyncio.create_task(Standby(self._data).turn(self._say_warm))
        ended = asyncio.create_task(self._ended.wait())
        await asyncio.wait((turn, ended), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not turn.done():
            turn.cancel()
            await asyncio.wait((turn,))
            return False
        self._listeners.inherit(turn.result())
        return True

    def _say_warm(self) -> None:
        _log.info("ready to serve when the process that does is gone")
        self._ready.write_text("standby\n")

    async def _serve(self, tasks: asyncio.TaskGroup, running: list[asyncio.Task[None]]) -> None:
        await self._find_ground()
        for service in self._services:
            await self._open(service.key)
        self._listeners.drop_inherited()
        self._listeners.hand_out(self._data)
        running.append(tasks.create_task(self._controller.run()))
        running.append(tasks.create_task(self._watch_ground()))
        page = Server(MetricsPage(self._table, self._sessions), listener := listen(LOOPBACK, 0))
        await page.start()
        write_target(self._data / "traffic-metrics.json", listener.getsockname()[:2], "traffic")
        self._ready.write_text("ready\n")
        _log.info("serving %d services", len(self._services))
        await self._ended.wait()
        self._ready.unlink(missing_ok=True)
        self._listeners.leave()
        self._frontends.close()
        self._names.close()
        await self._let_finish()
        await page.stop()

    async def _let_finish(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GRACE_SECONDS
        while loop.time() < deadline and any(member.in_flight for route in self._table for member in route.members):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)

    # the network of the pods

    def _pod_network_lost(self) -> None:
        self._lost.set()

    async def _find_ground(self) -> bool:
        if not await self._pod_network.find():
            return False
        try:
            await self._names.open(self._pod_network)
        except OSError as error:
            _log.error("names are not answered: %s", error)
        return True

    async def _watch_ground(self) -> None:
        while True:
            if self._pod_network.there:
                await self._lost.wait()
                self._lost.clear()
                _log.info("the network of the pods is gone")
                self._frontends.forget_pod_network()
                self._names.close()
            while not await self._find_ground():  # noqa: ASYNC110 - nobody tells when a node starts
                await asyncio.sleep(_SEARCH_SECONDS)
            _log.info("found the network of the pods")
            for service in self._services:
                self._controller.add(service.key)

    # one service

    def _note(self, key: Key) -> None:
        self._controller.add(key, after=_SETTLE_SECONDS)

    async def _open(self, key: Key) -> list[Trouble]:
        service = self._services.get(key)
        troubles = await self._frontends.keep(key, service)
        if service is not None:
            for trouble in troubles:
                reason = "NodePortTaken" if trouble.frontend.kind == "node" else "AddressTaken"
                self._events.record(reference(SERVICES, service), "Warning", reason, trouble.message)
        return troubles

    async def _reconcile(self, key: Key) -> Result:
        troubles = await self._open(key)
        service = self._services.get(key)
        if service is None:
            self._table.drop(key)
            return DONE
        divided = endpoints.shares(service)
        if isinstance(divided, str):
            self._events.record(reference(SERVICES, service), "Warning", "BackendsInvalid", divided)
        await self._publish(service)
        return Result(_AGAIN_SECONDS) if troubles else DONE

    async def _publish(self, service: Service) -> None:
        key = service.key
        seen = [
            Seen(member.target.pod, member.current, member.in_flight)
            for route in self._table.routes_of(key)
            if route.http
            for member in route.members
        ]
        wanted = publish.wanted_annotations(service, seen, self._frontends.moved(key, service))
        for patch, subresource in (
            (publish.metadata_patch(service, wanted), None),
            (publish.status_patch(service), "status"),
        ):
            if patch is None:
                continue
            request = verbs.patch(
                SERVICES,
                key.name,
                patch,
                PatchType.MERGE,
                key.namespace,
                subresource=subresource,
                field_manager=_MANAGER,
            )
            try:
                self._controller.wrote(key, self._services, await self._client.send_as(request, Service))
            except NotFound:
                return


def _room() -> int:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return min(_MOST_CLIENTS, max((most - _RESERVED) // _PER_CLIENT, _RESERVED))


async def serve(kubeconfig: Path, data: Path, ready: Path) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is written once all services answer, or once they would."""
    access = find_access(kubeconfig)
    parts = urlsplit(access.server)
    api_server = (parts.hostname or LOOPBACK, parts.port or 443)
    async with Client.connect(access, user_agent=_MANAGER) as client:
        traffic = Traffic(client, data, api_server, ready)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, traffic.request_stop)
        await traffic.run()
