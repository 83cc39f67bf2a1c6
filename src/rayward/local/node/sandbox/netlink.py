"""Links, addresses and routes of a network namespace, asked of the kernel directly.

A sandbox host or a pod needs five kinds of requests; a general library would double the size of every pod's init.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Final, Self

_NEW_LINK: Final = 16
_DELETE_LINK: Final = 17
_NEW_ADDRESS: Final = 20
_NEW_ROUTE: Final = 24
_ERROR: Final = 2

_REQUEST: Final = 0x1
_ACKNOWLEDGE: Final = 0x4
_EXCLUSIVE: Final = 0x200
_CREATE: Final = 0x400

_LINK_ADDRESS: Final = 1
_LINK_NAME: Final = 3
_LINK_MASTER: Final = 10
_LINK_INFO: Final = 18
_LINK_NAMESPACE_PID: Final = 19
_INFO_KIND: Final = 1
_INFO_DATA: Final = 2
_VETH_PEER: Final = 1
_ADDRESS: Final = 1
_LOCAL: Final = 2
_ROUTE_TO: Final = 1
_ROUTE_OUT: Final = 4
_ROUTE_VIA: Final = 5
_UP: Final = 0x1

_LOCALLY_MADE: Final = b"\x02\x00"
"""How a link address begins that no manufacturer gave."""

_HEADER: Final = struct.Struct("=IHHII")
_LINK: Final = struct.Struct("=BxHiII")
_ADDRESS_HEAD: Final = struct.Struct("=BBBBI")
_ROUTE: Final = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE: Final = struct.Struct("=HH")

_TABLE_MAIN: Final = 254
_TABLE_LOCAL: Final = 255
_BY_BOOT: Final = 3
_SCOPE_EVERYWHERE: Final = 0
_SCOPE_HOST: Final = 254
_UNICAST: Final = 1
_LOCALLY: Final = 2


class Netlink:
    """Requests about the network namespace in which it was opened."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def make_bridge(self, name: str, address: str) -> None:
        """A new bridge with a link address that follows from its IP address.

        Without one of its own it takes that of a link plugged into it, and another when that one is unplugged: whoever
        remembers the old one reaches nobody for half a minute.
        """
        kind = _attribute(_LINK_INFO, _attribute(_INFO_KIND, b"bridge"))
        self._make_link(_name(name) + _attribute(_LINK_ADDRESS, _LOCALLY_MADE + socket.inet_aton(address)) + kind)

    def make_pair(self, name: str, peer: str, peer_process: int) -> None:
        """Two ends of a cable: ``name`` here, ``peer`` in the network namespace of a process."""
        other = _LINK.pack(0, 0, 0, 0, 0) + _name(peer) + _attribute(_LINK_NAMESPACE_PID, _number(peer_process))
        data = _attribute(_INFO_DATA, _attribute(_VETH_PEER, other))
        self._make_link(_name(name) + _attribute(_LINK_INFO, _attribute(_INFO_KIND, b"veth") + data))

    def plug(self, name: str, bridge: str) -> None:
        """Put a link into a bridge and switch it on."""
        master = _attribute(_LINK_MASTER, _number(socket.if_nametoindex(bridge)))
        self._change_link(name, _UP, master)

    def switch_on(self, name: str) -> None:
        """Bring a link up."""
        self._change_link(name, _UP, b"")

    def remove(self, name: str) -> None:
        """Take a link away."""
        body = _LINK.pack(0, 0, socket.if_nametoindex(name), 0, 0)
        self._ask(_DELETE_LINK, 0, body)

    def add_address(self, name: str, address: str, prefix: int) -> None:
        """Give a link an address."""
        packed = socket.inet_aton(address)
        head = _ADDRESS_HEAD.pack(socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(name))
        self._ask(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, head + _attribute(_LOCAL, packed) + _attribute(_ADDRESS, packed))

    def route_default(self, gateway: str) -> None:
        """Send everything else to ``gateway``."""
        head = _ROUTE.pack(socket.AF_INET, 0, 0, 0, _TABLE_MAIN, _BY_BOOT, _SCOPE_EVERYWHERE, _UNICAST, 0)
        self._ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, head + _attribute(_ROUTE_VIA, socket.inet_aton(gateway)))

    def own_range(self, network: str, prefix: int) -> None:
        """Take every address of a range for one of this namespace, so that sockets may listen on any of them."""
        head = _ROUTE.pack(socket.AF_INET, prefix, 0, 0, _TABLE_LOCAL, _BY_BOOT, _SCOPE_HOST, _LOCALLY, 0)
        out = _attribute(_ROUTE_OUT, _number(socket.if_nametoindex("lo")))
        self._ask(_NEW_ROUTE, _CREATE | _EXCLUSIVE, head + _attribute(_ROUTE_TO, socket.inet_aton(network)) + out)

    def _make_link(self, attributes: bytes) -> None:
        self._ask(_NEW_LINK, _CREATE | _EXCLUSIVE, _LINK.pack(0, 0, 0, 0, 0) + attributes)

    def _change_link(self, name: str, flags: int, attributes: bytes) -> None:
        self._ask(_NEW_LINK, 0, _LINK.pack(0, 0, socket.if_nametoindex(name), flags, flags) + attributes)

    def _ask(self, kind: int, flags: int, body: bytes) -> None:
        self._sequence += 1
        size = _HEADER.size + len(body)
        self._socket.send(_HEADER.pack(size, kind, flags | _REQUEST | _ACKNOWLEDGE, self._sequence, 0) + body)
        answer = self._socket.recv(65536)
        _, answered, _, _, _ = _HEADER.unpack_from(answer)
        if answered != _ERROR:
            raise OSError(f"the kernel answered a network request with message {answered}")
        (failure,) = struct.unpack_from("=i", answer, _HEADER.size)
        if failure:
            raise OSError(-failure, f"netlink: {os.strerror(-failure)}")


def _attribute(kind: int, value: bytes) -> bytes:
    size = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(size, kind) + value + bytes(-size % 4)


def _name(text: str) -> bytes:
    return _attribute(_LINK_NAME, text.encode() + b"\0")


def _number(value: int) -> bytes:
    return struct.pack("=I", value)
