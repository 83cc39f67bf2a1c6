"""Which Endpoints a service should have: the older form, one object for all, ready and not ready apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries
from rayward.local.controllers.endpoints.endpoint import addresses_of, has_place, hostname_of, ports_of, target_of
from rayward.local.controllers.endpoints.service import HEADLESS_LABEL, SelectingService
from rayward.local.controllers.endpoints.trigger import stamped
from rayward.local.controllers.pods import SeenPod

_Port = tuple[str, int, str, str | None]
_Address = tuple[str, str]

MANAGER_LABEL: Final = "endpoints.kubernetes.io/managed-by"
_MANAGER: Final = "endpoint-controller"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_LARGEST: Final = 1000
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


def may_go(endpoints: Object) -> bool:
    """Whether Endpoints without a service are of no use; those of an election have none either."""
    return _LEADER not in (endpoints["metadata"].get("annotations") or {})


def wanted(
    service: SelectingService, pods: Iterable[SeenPod], present: Object | None, trigger: str | None
) -> Object | None:
    """The Endpoints to write; None if those that are there will do."""
    labels = {**(service.metadata.labels or {}), MANAGER_LABEL: _MANAGER}
    labels.pop(HEADLESS_LABEL, None)
    if not service.has_address:
        labels[HEADLESS_LABEL] = ""
    full = subsets(service, pods)
    kept = _truncated(full)
    metadata: Object = present["metadata"] if present is not None else {"name": service.metadata.name}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    same = present is not None and entries(present, "subsets") == kept and metadata.get("labels") == labels
    if same and (_OVER_CAPACITY in annotations) == (kept is not full):
        return None
    annotations = stamped(annotations, trigger)
    annotations.pop(_OVER_CAPACITY, None)
    if kept is not full:
        annotations[_OVER_CAPACITY] = "truncated"
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            **metadata,
            "namespace": service.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "subsets": kept,
    }


def subsets(service: SelectingService, pods: Iterable[SeenPod]) -> list[Object]:
    """The addresses, those that have the same ports and readiness together, in one fixed order."""
    addresses: dict[_Address, Object] = {}
    by_port: dict[_Port | None, dict[_Address, bool]] = {}
    unready = service.spec.publish_not_ready_addresses
    for pod in pods:
        if not has_place(pod, terminating=unready):
            continue
        found = addresses_of(pod, service.families[0])
        if not found:
            continue
        place = (found[0], pod.metadata.uid)
        addresses[place] = _address(service, pod, found[0])
        portless = not service.spec.ports and not service.has_address
        for port in [None] if portless else [_port(entry) for entry in ports_of(service, pod)]:
            by_port.setdefault(port, {})[place] = unready or pod.ready
    by_places: dict[frozenset[tuple[_Address, bool]], list[_Port]] = {}
    for port, places in by_port.items():
        ports = by_places.setdefault(frozenset(places.items()), [])
        if port is not None:
            ports.append(port)
    ordered = sorted(by_places.items(), key=lambda found: str(sorted(found[1], key=str)))
    return [_subset(dict(places), ports, addresses) for places, ports in ordered]


def _subset(places: dict[_Address, bool], ports: list[_Port], addresses: dict[_Address, Object]) -> Object:
    made: Object = {}
    for name, wanted_state in (("addresses", True), ("notReadyAddresses", False)):
        found = [addresses[place] for place in sorted(places) if places[place] is wanted_state]
        if found:
            made[name] = found
    if ports:
        made["ports"] = [_port_object(port) for port in sorted(ports, key=str)]
    return made


def _address(service: SelectingService, pod: SeenPod, ip: str) -> Object:
    made: Object = {"ip": ip}
    if hostname := hostname_of(service, pod):
        made["hostname"] = hostname
    if pod.spec.node_name:
        made["nodeName"] = pod.spec.node_name
    return {**made, "targetRef": target_of(pod)}


def _port(entry: Object) -> _Port:
    return entry["name"], entry["port"], entry["protocol"], entry.get("appProtocol")


def _port_object(port: _Port) -> Object:
    name, number, protocol, app_protocol = port
    made: Object = {"name": name} if name else {}
    made |= {"port": number, "protocol": protocol}
    return made if app_protocol is None else {**made, "appProtocol": app_protocol}


def _truncated(full: list[Object]) -> list[Object]:
    """At most a thousand addresses, ready ones first, each subset giving up its share; ``full`` itself if it fits."""
    ready = sum(len(entries(made, "addresses")) for made in full)
    others = sum(len(entries(made, "notReadyAddresses")) for made in full)
    if ready + others <= _LARGEST:
        return full
    cut, total, room = "notReadyAddresses", others, _LARGEST - ready
    if ready > _LARGEST:
        cut, total, room = "addresses", ready, _LARGEST
    left = room
    shorter: list[Object] = []
    for made in full:
        present = entries(made, cut)
        share = min(math.ceil(len(present) / total * room), left)
        left -= min(share, len(present))
        kept = {name: value for name, value in made.items() if name not in (cut, "notReadyAddresses")}
        if present[:share]:
            kept[cut] = present[:share]
        if "addresses" in kept or "notReadyAddresses" in kept:
            shorter.append(kept)
    return shorter
