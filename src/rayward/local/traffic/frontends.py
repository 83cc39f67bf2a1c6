"""Where services listen: opened and closed as Services come, change and go."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from typing import Final

import msgspec

from rayward.kube.core.objects import Key
from rayward.kube.core.service import Service, ServicePort
from rayward.local import addresses
from rayward.local.traffic.endpoints import speaks_http
from rayward.local.traffic.holder import holder_of
from rayward.local.traffic.http.session import Session
from rayward.local.traffic.listeners import Listeners
from rayward.local.traffic.place import Host, Place, PodNetwork
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.table import Table
from rayward.local.traffic.tcp import Connection
from rayward.local.traffic.udp import UdpPort

_MOST_ALTERNATIVES: Final = 5
LOOPBACK: Final = "127.0.0.1"


class Frontend(msgspec.Struct, frozen=True):
    """A place at which a port of a service listens."""

    kind: str
    """``cluster``, ``shell`` or ``node``."""
    protocol: str
    address: str
    port: int
    service_port: int
    http: bool


class Trouble(msgspec.Struct, frozen=True):
    """A frontend that could not be opened."""

    frontend: Frontend
    message: str


def frontends_of(service: Service) -> list[Frontend]:
    """Where a service should listen. Pure."""
    found: list[Frontend] = []
    spec = service.spec
    if spec.type == "ExternalName":
        return found
    host = addresses.shell_host(service)
    ruled, moved = addresses.shell_ports(spec.ports or ()), addresses.moved_ports(service)
    for port in spec.ports or ():
        if port.protocol not in ("TCP", "UDP"):
            continue
        http = speaks_http(port)

        def frontend(kind: str, address: str, number: int, port: ServicePort = port, http: bool = http) -> Frontend:
            return Frontend(kind, port.protocol, address, number, port.port, http)

        if spec.cluster_ip not in ("", "None") and ":" not in spec.cluster_ip:
            found.append(frontend("cluster", spec.cluster_ip, port.port))
        if host is not None:
            key = addresses.port_key(port)
            found.append(frontend("shell", host, moved.get(key, ruled[key])))
        if port.node_port:
            found.append(frontend("node", LOOPBACK, port.node_port))
    return found


class _Open(msgspec.Struct):
    port: int
    close: Callable[[], None]


class Frontends:
    def __init__(
        self, table: Table, sessions: Sessions, host: Host, pod_network: PodNetwork, listeners: Listeners
    ) -> None:
        self._listeners = listeners
        self._table = table
        self._sessions = sessions
        self._host = host
        self._pod_network = pod_network
        self._open: dict[Key, dict[Frontend, _Open]] = {}

    async def keep(self, key: Key, service: Service | None) -> list[Trouble]:
        """Have the frontends of a service open and no others; returns those that cannot be."""
        wanted = frontends_of(service) if service is not None else []
        opened = self._open.setdefault(key, {})
        kept = {_where(frontend): frontend for frontend in opened}
        for frontend in list(opened):
            if not any(_where(frontend) == _where(one) for one in wanted):
                opened.pop(frontend).close()
        troubles: list[Trouble] = []
        for frontend in wanted:
            if _where(frontend) in kept or (frontend.kind == "cluster" and not self._pod_network.there):
                continue
            generation = self._pod_network.generation
            try:
                made = await self._open_near(key, frontend)
                if frontend.kind == "cluster" and (
                    generation != self._pod_network.generation or not self._pod_network.there
                ):
                    # That network ended meanwhile; when the next one is found, all services are looked at again.
                    made.close()
                else:
                    opened[frontend] = made
            except OSError as error:
                troubles.append(Trouble(frontend, self._explain(frontend, error)))
        if not opened:
            self._open.pop(key, None)
        return troubles

    def moved(self, key: Key, service: Service) -> dict[str, int]:
        """The shell ports that are elsewhere than the rule says."""
        ruled = addresses.shell_ports(service.spec.ports or ())
        return {
            name: one.port
            for frontend, one in self._open.get(key, {}).items()
            if frontend.kind == "shell"
            and ruled.get(name := f"{frontend.protocol}/{frontend.service_port}") not in (None, one.port)
        }

    def forget_pod_network(self) -> None:
        """The network of the pods is gone, and with it its frontends."""
        for opened in self._open.values():
            for frontend in [frontend for frontend in opened if frontend.kind == "cluster"]:
                opened.pop(frontend).close()

    def keys(self) -> list[Key]:
        """The services that have frontends."""
        return list(self._open)

    def close(self) -> None:
        for opened in self._open.values():
            for one in opened.values():
                one.close()
        self._open.clear()

    async def _open_near(self, key: Key, frontend: Frontend) -> _Open:
        try:
            return _Open(frontend.port, await self._open_at(key, frontend, frontend.port))
        except OSError as error:
            if frontend.kind != "shell" or error.errno not in (errno.EADDRINUSE, errno.EACCES, errno.EPERM):
                raise
            for port in addresses.alternatives(frontend.service_port)[:_MOST_ALTERNATIVES]:
                try:
                    return _Open(port, await self._open_at(key, frontend, port))
                except OSError:
                    continue
            raise

    async def _open_at(self, key: Key, frontend: Frontend, port: int) -> Callable[[], None]:
        place: Place = self._pod_network if frontend.kind == "cluster" else self._host
        route = self._table.route(key, frontend.protocol, frontend.service_port)
        loop = asyncio.get_running_loop()
        listener = await self._listeners.open(
            place, "udp" if frontend.protocol == "UDP" else "tcp", frontend.address, port
        )
        if frontend.protocol == "UDP":
            transport, _ = await loop.create_datagram_endpoint(lambda: UdpPort(route), sock=listener.socket)
            return listener.closer(transport.close)
        factory = Session if frontend.http else Connection
        server = await loop.create_server(lambda: factory(route, self._sessions), sock=listener.socket, backlog=1024)
        return listener.closer(server.close)

    def _explain(self, frontend: Frontend, error: OSError) -> str:
        where = f"{frontend.protocol} {frontend.address}:{frontend.port}"
        if error.errno == errno.EADDRINUSE:
            return f"{where} is taken by {holder_of(frontend.port)}; free it, or give the service another port"
        return f"cannot listen at {where}: {os.strerror(error.errno) if error.errno else error}"


def _where(frontend: Frontend) -> tuple[str, str, str, int, bool]:
    # Not the port of a shell frontend: it stays where it is once it is open.
    number = frontend.service_port if frontend.kind == "shell" else frontend.port
    return frontend.kind, frontend.protocol, f"{frontend.address}/{frontend.service_port}", number, frontend.http
