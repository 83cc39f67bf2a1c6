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
from rayward.local.traffic.place import Ground, Host, Place
from rayward.local.traffic.sessions import Sessions
from rayward.local.traffic.table import Table
from rayward.local.traffic.tcp import Connection
from rayward.local.traffic.udp import UdpPort

_MOST_ALTERNATIVES: Final = 5
LOOPBACK: Final = "127.0.0.1"


class Door(msgspec.Struct, frozen=True):
    """A place at which a port of a service listens."""

    kind: str
    """``cluster``, ``shell`` or ``node``."""
    protocol: str
    address: str
    port: int
    service_port: int
    http: bool


class Trouble(msgspec.Struct, frozen=True):
    """A door that could not be opened."""

    door: Door
    message: str


def doors_of(service: Service) -> list[Door]:
    """Where a service should listen. Pure."""
    found: list[Door] = []
    spec = service.spec
    if spec.type == "ExternalName":
        return found
    host = addresses.shell_host(service)
    ruled, moved = addresses.shell_ports(spec.ports or ()), addresses.moved_ports(service)
    for port in spec.ports or ():
        if port.protocol not in ("TCP", "UDP"):
            continue
        http = speaks_http(port)

        def door(kind: str, address: str, number: int, port: ServicePort = port, http: bool = http) -> Door:
            return Door(kind, port.protocol, address, number, port.port, http)

        if spec.cluster_ip not in ("", "None") and ":" not in spec.cluster_ip:
            found.append(door("cluster", spec.cluster_ip, port.port))
        if host is not None:
            key = addresses.port_key(port)
            found.append(door("shell", host, moved.get(key, ruled[key])))
        if port.node_port:
            found.append(door("node", LOOPBACK, port.node_port))
    return found


class _Open(msgspec.Struct):
    port: int
    close: Callable[[], None]


class Doors:
    def __init__(self, table: Table, sessions: Sessions, host: Host, ground: Ground, listeners: Listeners) -> None:
        self._listeners = listeners
        self._table = table
        self._sessions = sessions
        self._host = host
        self._ground = ground
        self._open: dict[Key, dict[Door, _Open]] = {}

    async def keep(self, key: Key, service: Service | None) -> list[Trouble]:
        """Have the doors of a service open and no others; returns those that cannot be."""
        wanted = doors_of(service) if service is not None else []
        opened = self._open.setdefault(key, {})
        kept = {_where(door): door for door in opened}
        for door in list(opened):
            if not any(_where(door) == _where(one) for one in wanted):
                opened.pop(door).close()
        troubles: list[Trouble] = []
        for door in wanted:
            if _where(door) in kept or (door.kind == "cluster" and not self._ground.there):
                continue
            generation = self._ground.generation
            try:
                made = await self._open_near(key, door)
                if door.kind == "cluster" and (generation != self._ground.generation or not self._ground.there):
                    # That network ended meanwhile; when the next one is found, all services are looked at again.
                    made.close()
                else:
                    opened[door] = made
            except OSError as error:
                troubles.append(Trouble(door, self._explain(door, error)))
        if not opened:
            self._open.pop(key, None)
        return troubles

    def moved(self, key: Key, service: Service) -> dict[str, int]:
        """The shell ports that are elsewhere than the rule says."""
        ruled = addresses.shell_ports(service.spec.ports or ())
        return {
            name: one.port
            for door, one in self._open.get(key, {}).items()
            if door.kind == "shell"
            and ruled.get(name := f"{door.protocol}/{door.service_port}") not in (None, one.port)
        }

    def forget_ground(self) -> None:
        """The network of the pods is gone, and with it its doors."""
        for opened in self._open.values():
            for door in [door for door in opened if door.kind == "cluster"]:
                opened.pop(door).close()

    def keys(self) -> list[Key]:
        """The services that have doors."""
        return list(self._open)

    def close(self) -> None:
        for opened in self._open.values():
            for one in opened.values():
                one.close()
        self._open.clear()

    async def _open_near(self, key: Key, door: Door) -> _Open:
        try:
            return _Open(door.port, await self._open_at(key, door, door.port))
        except OSError as error:
            if door.kind != "shell" or error.errno not in (errno.EADDRINUSE, errno.EACCES, errno.EPERM):
                raise
            for port in addresses.alternatives(door.service_port)[:_MOST_ALTERNATIVES]:
                try:
                    return _Open(port, await self._open_at(key, door, port))
                except OSError:
                    continue
            raise

    async def _open_at(self, key: Key, door: Door, port: int) -> Callable[[], None]:
        place: Place = self._ground if door.kind == "cluster" else self._host
        route = self._table.route(key, door.protocol, door.service_port)
        loop = asyncio.get_running_loop()
        listener = await self._listeners.open(place, "udp" if door.protocol == "UDP" else "tcp", door.address, port)
        if door.protocol == "UDP":
            transport, _ = await loop.create_datagram_endpoint(lambda: UdpPort(route), sock=listener.socket)
            return listener.closer(transport.close)
        factory = Session if door.http else Connection
        server = await loop.create_server(lambda: factory(route, self._sessions), sock=listener.socket, backlog=1024)
        return listener.closer(server.close)

    def _explain(self, door: Door, error: OSError) -> str:
        where = f"{door.protocol} {door.address}:{door.port}"
        if error.errno == errno.EADDRINUSE:
            return f"{where} is taken by {holder_of(door.port)}; free it, or give the service another port"
        return f"cannot listen at {where}: {os.strerror(error.errno) if error.errno else error}"


def _where(door: Door) -> tuple[str, str, str, int, bool]:
    # Not the port of a shell door: it stays where it is once it is open.
    number = door.service_port if door.kind == "shell" else door.port
    return door.kind, door.protocol, f"{door.address}/{door.service_port}", number, door.http
