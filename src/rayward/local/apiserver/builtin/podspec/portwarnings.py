"""Ports of a pod that are declared more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.podspec.paths import containers_of

Spec = Mapping[str, Any]
# An answer has room for 4,096 letters of warnings.
_MOST: Final = 200


def port_warnings(spec: Spec, at: str) -> list[str]:
    """Ports and port names that meet."""
    ports = [
        (f"{here}.ports[{index}]", port)
        for here, container in containers_of(spec, at)
        for index, port in enumerate(container.get("ports") or NO_ITEMS)
    ]
    return [*islice(_numbers(ports), _MOST), *_names(ports)] if ports else []


class _Port(NamedTuple):
    place: int
    at: str
    host_ip: str
    host_port: int


class _Others:
    """Ports of one number and protocol, found by what they take of the host: each that is looked at is told of."""

    def __init__(self) -> None:
        self._all: list[_Port] = []
        self._of_port: defaultdict[int, list[_Port]] = defaultdict(list)
        self._of_both: defaultdict[tuple[int, str], list[_Port]] = defaultdict(list)

    def add(self, at: str, host_ip: str, host_port: int) -> None:
        port = _Port(len(self._all), at, host_ip, host_port)
        self._all.append(port)
        self._of_port[host_port].append(port)
        self._of_both[host_port, host_ip].append(port)

    def that_meet(self, host_ip: str, host_port: int) -> list[_Port]:
        """In their order: all for a port without one of the host, else those without and those of the same."""
        if not host_port:
            return self._all
        same = self._of_port.get(host_port, [])
        if host_ip:
            same = self._of_both.get((host_port, host_ip), []) + self._of_both.get((host_port, ""), [])
        return sorted(self._of_port.get(0, []) + same)


def _numbers(ports: list[tuple[str, Spec]]) -> Iterator[str]:
    known: dict[tuple[int, str], _Others] = {}
    for here, port in ports:
        host_ip, host_port = port.get("hostIP") or "", port.get("hostPort") or 0
        if host_ip and not host_port:
            shown = (
                f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{port.get('containerPort') or 0} "
                f"Protocol:{port.get('protocol') or ''} HostIP:{host_ip}}}"
            )
            yield f"{here}: hostIP set without hostPort: {shown}"
        others = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), _Others())
        for other in others.that_meet(host_ip, host_port):
            if host_ip == other.host_ip and host_port == other.host_port:
                yield f"{here}: duplicate port definition with {other.at}"
            elif not host_port or not other.host_port:
                yield f"{here}: overlapping port definition with {other.at}"
            else:
                yield f"{here}: dangerously ambiguous port definition with {other.at}"
        others.add(here, host_ip, host_port)


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
