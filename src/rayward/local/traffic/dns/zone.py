"""What names of the cluster mean, told from Services and EndpointSlices. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from rayward.kube.core.objects import Key
from rayward.kube.core.service import EndpointSlice, Service, ServicePort
from rayward.local.traffic.dns import message
from rayward.local.traffic.dns.message import Code, Kind, Record
from rayward.local.traffic.endpoints import is_ready

DOMAIN: Final = "cluster.local"
_REVERSE: Final = ".in-addr.arpa"
_OURS: Final = (ipaddress.ip_network("10.42.0.0/16"), ipaddress.ip_network("10.43.0.0/16"))

Answered = tuple[Code, list[Record]]
_NO_SUCH_NAME: Final[Answered] = (Code.NO_SUCH_NAME, [])


class View(Protocol):
    """What is known of the cluster."""

    def service(self, key: Key) -> Service | None: ...

    def services(self, namespace: str | None = None) -> Iterable[Service]:
        """All services, or those of a namespace."""
        ...

    def slices(self, key: Key) -> Sequence[EndpointSlice]:
        """The slices of a service."""
        ...


def answer(name: str, kind: int, view: View) -> Answered | None:
    """What is known of a name; None if it is not of the cluster."""
    if name.endswith(_REVERSE):
        return _reverse(name, kind, view)
    if name == DOMAIN:
        return Code.OK, []
    if not name.endswith(f".{DOMAIN}"):
        return None
    labels = name.removesuffix(f".{DOMAIN}").split(".")
    match labels:
        case [dashed, _, "pod"]:
            return _dashed(name, dashed, kind)
        case ["svc"] | ["pod"]:
            return Code.OK, []
        case [namespace, "svc"]:
            return (Code.OK, []) if any(view.services(namespace)) else _NO_SUCH_NAME
        case [service, namespace, "svc"]:
            return _of_service(name, Key(namespace, service), kind, view)
        case [host, service, namespace, "svc"]:
            return _of_host(name, host, Key(namespace, service), kind, view)
        case [port, protocol, service, namespace, "svc"] if port.startswith("_") and protocol.startswith("_"):
            return _of_port(name, port[1:], protocol[1:], Key(namespace, service), kind, view)
        case _:
            return _NO_SUCH_NAME


def _of_service(name: str, key: Key, kind: int, view: View) -> Answered:
    service = view.service(key)
    if service is None:
        return _NO_SUCH_NAME
    spec = service.spec
    if spec.type == "ExternalName":
        target = spec.external_name.rstrip(".").lower()
        found = answer(target, kind, view) if target != name and kind == Kind.A else None
        return Code.OK, [message.alias(name, target), *(found[1] if found is not None else ())]
    if kind == Kind.SRV:
        return Code.OK, [record for port in spec.ports or () for record in _targets(name, service, port, view)]
    if kind not in (Kind.A, Kind.ANY):
        return Code.OK, []
    if spec.cluster_ip and spec.cluster_ip != "None":
        return Code.OK, [message.address(name, spec.cluster_ip)] if ":" not in spec.cluster_ip else []
    found_addresses = dict.fromkeys(address for address, _, _ in _endpoints(service, view))
    return Code.OK, [message.address(name, address) for address in found_addresses]


def _of_host(name: str, host: str, key: Key, kind: int, view: View) -> Answered:
    service = view.service(key)
    if service is None:
        return _NO_SUCH_NAME
    found = dict.fromkeys(address for address, called, _ in _endpoints(service, view) if called == host)
    if not found:
        return _NO_SUCH_NAME
    return Code.OK, [message.address(name, address) for address in found] if kind in (Kind.A, Kind.ANY) else []


def _of_port(name: str, port: str, protocol: str, key: Key, kind: int, view: View) -> Answered:
    service = view.service(key)
    if service is None:
        return _NO_SUCH_NAME
    ports = [one for one in service.spec.ports or () if one.name == port and one.protocol.lower() == protocol]
    if not ports:
        return _NO_SUCH_NAME
    if kind not in (Kind.SRV, Kind.ANY):
        return Code.OK, []
    return Code.OK, _targets(name, service, ports[0], view)


def _targets(name: str, service: Service, port: ServicePort, view: View) -> list[Record]:
    base = f"{service.metadata.name}.{service.metadata.namespace}.svc.{DOMAIN}"
    if service.spec.cluster_ip != "None":
        return [message.service(name, port.port, base)]
    return [
        message.service(name, number, f"{called}.{base}")
        for _, called, one in _endpoints(service, view)
        for number in _numbers(port, one)
    ]


def _numbers(port: ServicePort, one: EndpointSlice) -> list[int]:
    return [
        found.port
        for found in one.ports or ()
        if found.port and (found.name or "") == port.name and (found.protocol or "TCP") == port.protocol
    ]


def _endpoints(service: Service, view: View) -> list[tuple[str, str, EndpointSlice]]:
    unready = service.spec.publish_not_ready_addresses
    return [
        (address, endpoint.hostname or address.replace(".", "-"), one)
        for one in view.slices(service.key)
        if one.address_type == "IPv4"
        for endpoint in one.endpoints or ()
        if unready or is_ready(endpoint)
        for address in endpoint.addresses[:1]
    ]


def _dashed(name: str, dashed: str, kind: int) -> Answered:
    try:
        address = ipaddress.IPv4Address(dashed.replace("-", "."))
    except ValueError:
        return _NO_SUCH_NAME
    return Code.OK, [message.address(name, str(address))] if kind in (Kind.A, Kind.ANY) else []


def _reverse(name: str, kind: int, view: View) -> Answered | None:
    parts = name.removesuffix(_REVERSE).split(".")
    try:
        address = ipaddress.IPv4Address(".".join(reversed(parts)))
    except ValueError:
        return None
    if not any(address in network for network in _OURS):
        return None
    if kind not in (Kind.PTR, Kind.ANY):
        return Code.OK, []
    text = str(address)
    for service in view.services():
        base = f"{service.metadata.name}.{service.metadata.namespace}.svc.{DOMAIN}"
        if service.spec.cluster_ip == text:
            return Code.OK, [message.pointer(name, base)]
        if service.spec.cluster_ip == "None":
            for found, called, _ in _endpoints(service, view):
                if found == text:
                    return Code.OK, [message.pointer(name, f"{called}.{base}")]
    return _NO_SUCH_NAME
