"""Where a service answers on this machine's loopback: follows from the Service alone. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kube.core.service import Service, ServicePort
from rayward.kube.machinery.jsonvalue import Object

SHELL_PORTS: Final = labels.SHELL_PORTS
"""Ports that are elsewhere than the rule says, because theirs was taken: ``{"TCP/8000": 18000}``."""
_FIRST_FREE: Final = 1024
_STEP: Final = 10_000
_HIGHEST: Final = 65535


class ShellAddress(msgspec.Struct, frozen=True):
    """One port of a service, seen from a shell."""

    protocol: str
    port: int
    """Of the service."""
    name: str
    host: str
    shell_port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.shell_port}"


def shell_addresses(service: Service) -> list[ShellAddress]:
    """Where each port of a service answers in a shell; none for a service without ports or with an external name."""
    host = shell_host(service)
    if host is None:
        return []
    moved = moved_ports(service)
    ports = service.spec.ports or ()
    ruled = shell_ports(ports)
    return [
        ShellAddress(one.protocol, one.port, one.name, host, moved.get(port_key(one), ruled[port_key(one)]))
        for one in ports
    ]


def shell_addresses_of(service: Object) -> list[ShellAddress]:
    """The same for an object as the API server sends it."""
    return shell_addresses(msgspec.convert(service, Service))


def shell_host(service: Service) -> str | None:
    """The loopback address of a service: its cluster IP's last two numbers, or, for a headless one, of its name."""
    spec = service.spec
    if spec.type == "ExternalName" or not spec.ports:
        return None
    if spec.cluster_ip and spec.cluster_ip != "None":
        parts = spec.cluster_ip.split(".")
        return f"127.43.{parts[2]}.{parts[3]}" if len(parts) == 4 else None
    if not spec.cluster_ip:
        return None
    high, low = hashlib.sha256(str(service.key).encode()).digest()[:2]
    return f"127.44.{high}.{min(max(low, 1), 254)}"


def shell_ports(ports: Sequence[ServicePort]) -> dict[str, int]:
    """The port that stands for each: itself, or the next free step above where only root may listen."""
    found = {port_key(one): one.port for one in ports if one.port >= _FIRST_FREE}
    for one in ports:
        if one.port < _FIRST_FREE:
            taken = {port for key, port in found.items() if key.startswith(f"{one.protocol}/")}
            found[port_key(one)] = next(port for port in alternatives(one.port) if port not in taken)
    return found


def alternatives(port: int) -> list[int]:
    """Ports that can stand for one that cannot be had, in the order to try them."""
    return list(range(port + _STEP, _HIGHEST + 1, _STEP)) or list(range(port - _STEP, 0, -_STEP))


def moved_ports(service: Service) -> dict[str, int]:
    """What the annotation says; nothing if it is not readable."""
    text = service.metadata.annotation(SHELL_PORTS)
    try:
        return msgspec.json.decode(text, type=dict[str, int]) if text else {}
    except msgspec.DecodeError:
        return {}


def moved_text(moved: Mapping[str, int]) -> str | None:
    """The annotation; None where it is not needed."""
    return msgspec.json.encode(dict(sorted(moved.items()))).decode() if moved else None


def port_key(port: ServicePort) -> str:
    """A port's name in the annotation."""
    return f"{port.protocol}/{port.port}"
