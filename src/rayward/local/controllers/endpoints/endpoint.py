"""What one pod is to a service: its addresses, ports and conditions."""

from __future__ import annotations

import ipaddress

from rayward.kube.core.pod import Container
from rayward.kube.core.service import ServicePort
from rayward.kube.machinery.jsonvalue import Object
from rayward.local.controllers.endpoints.service import HEADLESS, SelectingService
from rayward.local.controllers.pods import SeenPod


def addresses_of(pod: SeenPod, family: str) -> list[str]:
    """Its addresses of one family, in their usual form."""
    found: list[str] = []
    for text in pod.addresses:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if family == f"IPv{address.version}":
            found.append(str(address))
    return found


def ports_of(service: SelectingService, pod: SeenPod) -> list[Object]:
    """The service's ports as this pod has them; a port that it does not name is left out."""
    if not service.spec.ports and service.spec.cluster_ip == HEADLESS:
        return []
    found: list[Object] = []
    for port in service.spec.ports or ():
        number = _number(port, pod)
        if number is None:
            continue
        entry: Object = {"name": port.name, "port": number, "protocol": port.protocol}
        if port.app_protocol is not None:
            entry["appProtocol"] = port.app_protocol
        found.append(entry)
    return found


def _number(port: ServicePort, pod: SeenPod) -> int | None:
    target = port.target_port
    if target is None:
        return port.port
    if isinstance(target, int):
        return target
    sidecars = (found for found in pod.spec.init_containers or () if found.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        if (number := _named(container, target, port.protocol)) is not None:
            return number
    return None


def _named(container: Container, name: str, protocol: str) -> int | None:
    return next(
        (port.container_port for port in container.ports or () if port.name == name and port.protocol == protocol), None
    )


def has_place(pod: SeenPod, *, terminating: bool) -> bool:
    """Whether it is an endpoint at all: it has an address, and is neither over nor, unless asked, going."""
    if pod.over or not (pod.status.pod_ip or pod.addresses):
        return False
    return terminating or not pod.deleting


def target_of(pod: SeenPod) -> Object:
    """How an endpoint points to its pod."""
    metadata = pod.metadata
    return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}


def hostname_of(service: SelectingService, pod: SeenPod) -> str:
    """The name that the service gives the pod, if the pod asks for that."""
    return pod.spec.hostname if pod.spec.subdomain == service.metadata.name else ""


def endpoint_of(service: SelectingService, pod: SeenPod, zone: str, family: str) -> Object:
    """The endpoint of an EndpointSlice."""
    serving = pod.ready
    ready = service.spec.publish_not_ready_addresses or (serving and not pod.deleting)
    made: Object = {
        "addresses": addresses_of(pod, family),
        "conditions": {"ready": ready, "serving": serving, "terminating": pod.deleting},
        "targetRef": target_of(pod),
    }
    if pod.spec.node_name:
        made["nodeName"] = pod.spec.node_name
    if zone:
        made["zone"] = zone
    if hostname := hostname_of(service, pod):
        made["hostname"] = hostname
    return made
