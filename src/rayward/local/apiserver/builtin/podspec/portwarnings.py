"""Ports of a pod that are declared more than once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.podspec.paths import containers_of

Spec = Mapping[str, Any]


def port_warnings(spec: Spec, at: str) -> list[str]:
    """Ports and port names that meet."""
    ports = [
        (f"{here}.ports[{index}]", port)
        for here, container in containers_of(spec, at)
        for index, port in enumerate(container.get("ports") or NO_ITEMS)
    ]
    return [*_numbers(ports), *_names(ports)] if ports else []


def _numbers(ports: list[tuple[str, Spec]]) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, Spec]]] = {}
    for here, port in ports:
        host_ip, host_port = port.get("hostIP") or "", port.get("hostPort") or 0
        if host_ip and not host_port:
            shown = (
                f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{port.get('containerPort') or 0} "
                f"Protocol:{port.get('protocol') or ''} HostIP:{host_ip}}}"
            )
            yield f"{here}: hostIP set without hostPort: {shown}"
        others = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
        for there, other in others:
            other_ip, other_port = other.get("hostIP") or "", other.get("hostPort") or 0
            if host_ip == other_ip and host_port == other_port:
                yield f"{here}: duplicate port definition with {there}"
            elif not host_port or not other_port:
                yield f"{here}: overlapping port definition with {there}"
            elif host_port == other_port and bool(host_ip) != bool(other_ip):
                yield f"{here}: dangerously ambiguous port definition with {there}"
        others.append((here, port))


def _names(ports: list[tuple[str, Spec]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for here, port in ports:
        name = port.get("name")
        if not name:
            continue
        if name in known:
            there = known[name]
            text = f"services and probes that select ports by name will use {there}"
            yield f'{here}: duplicate port name "{name}" with {there}, {text}'
        else:
            known[name] = here
