"""The services of a cluster: to its head, among its workers, to Ray Serve."""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kinds.shapes import features
from rayward.kinds.shapes.metadata import Object, child, fresh, own_metadata
from rayward.kinds.shapes.pods import head_labels
from rayward.kinds.validation import template
from rayward.kube.core.meta import controlled_by
from rayward.kube.core.resource import SERVICES
from rayward.kube.machinery.digits import parse_digits

DASHBOARD: Final = "dashboard"
_METRICS: Final = "metrics"
_SERVE: Final = "serve"
_DEFAULT_PORTS: Final = {"client": 10001, "gcs-server": 6379, DASHBOARD: 8265, _METRICS: 8080, _SERVE: 8000}
_HEADLESS: Final = {"clusterIP": "None", "publishNotReadyAddresses": True}
_CLUSTER_IP: Final = "ClusterIP"
_HIGHEST_PORT: Final = 65535


def head_service(cluster: RayCluster) -> Object:
    """Where workers, drivers and users find the head; of the user's own making where there is one."""
    group = cluster.spec.head_group_spec
    its_labels = _head_labels(cluster)
    annotations: Object = dict(cluster.spec.head_service_annotations or {})
    if group.head_service is not None:
        return _users_head_service(cluster, group.head_service, its_labels, annotations)
    made = child(cluster, SERVICES, features.head_service_name(cluster), its_labels, annotations)
    spec: Object = {"selector": _head_selector(cluster), "ports": _head_ports(cluster)}
    if group.service_type:
        spec["type"] = group.service_type
    if group.service_type in ("", _CLUSTER_IP):
        # There is one head: an address in front of it only adds a hop.
        spec |= _HEADLESS
    return {**made, "spec": spec}


def headless_service(cluster: RayCluster) -> Object | None:
    """Names for the workers of groups whose replicas have several hosts."""
    if not any((group.num_of_hosts or 1) > 1 for group in cluster.groups):
        return None
    name = cluster.metadata.name
    made = child(cluster, SERVICES, names.headless_service(name), {labels.HEADLESS_WORKERS: name})
    selector = {labels.CLUSTER: name, labels.NODE_TYPE: labels.WORKER}
    return {**made, "spec": {"type": _CLUSTER_IP, "selector": selector, **_HEADLESS}}


def serve_service(cluster: RayCluster) -> Object | None:
    """To Ray Serve, where an annotation asks for it and the head has a port for it."""
    if cluster.metadata.annotation(labels.ENABLE_SERVE_SERVICE) != "true":
        return None
    ports = [port for port in _ports(cluster) if port["name"] == _SERVE or port["name"].startswith(f"{_SERVE}-")]
    if not ports:
        return None
    name = cluster.metadata.name
    its_labels = {
        labels.ORIGIN_NAME: name,
        labels.ORIGIN_KIND: "RayCluster",
        labels.SERVE: names.serve_label(name),
    }
    spec: Object = {"selector": {labels.CLUSTER: name}, "ports": ports}
    if service_type := cluster.spec.head_group_spec.service_type:
        spec["type"] = service_type
    return {**child(cluster, SERVICES, names.serve_service(name), its_labels), "spec": spec}


def dashboard_port(cluster: RayCluster) -> int:
    """The port of the head's service at which the dashboard answers."""
    ports = {port["name"]: port["port"] for port in _ports(cluster)}
    return ports.get(DASHBOARD, _DEFAULT_PORTS[DASHBOARD])


def listening_port(cluster: RayCluster) -> int:
    """The port of the head's pod at which the dashboard listens: as Ray is told, else as the container says."""
    text = (cluster.spec.head_group_spec.ray_start_params or {}).get("dashboard-port", "")
    if told := parse_digits(text, _HIGHEST_PORT):
        return told
    for container in template.containers(cluster.spec.head_group_spec.template)[:1]:
        ports: list[Object] = container.get("ports") or []
        for port in ports:
            if port.get("name") == DASHBOARD:
                return int(port["containerPort"])
    return _DEFAULT_PORTS[DASHBOARD]


def _users_head_service(cluster: RayCluster, given: Object, its_labels: Object, annotations: Object) -> Object:
    metadata = own_metadata(given.get("metadata"))
    metadata |= {
        "name": features.head_service_name(cluster),
        "namespace": cluster.metadata.namespace,
        "labels": {**(metadata.get("labels") or {}), **its_labels},
        "annotations": {**(metadata.get("annotations") or {}), **annotations},
        "ownerReferences": [controlled_by(cluster, RAY_CLUSTERS)],
    }
    spec: Object = fresh(given.get("spec") or {})
    ports: list[Object] = spec.get("ports") or []
    # Two ports of one name or number are refused; the user's own word counts.
    taken = {port.get("name") for port in ports} | {port.get("port") for port in ports}
    ours = [port for port in _head_ports(cluster) if port["name"] not in taken and port["port"] not in taken]
    spec |= {"selector": _head_selector(cluster), "ports": [*ports, *ours]}
    if not spec.get("type") and (service_type := cluster.spec.head_group_spec.service_type):
        spec["type"] = service_type
    return {"apiVersion": SERVICES.api_version, "kind": SERVICES.kind, "metadata": metadata, "spec": spec}


def _head_labels(cluster: RayCluster) -> Object:
    template: Object = cluster.spec.head_group_spec.template.get("metadata") or {}
    of_template: dict[str, Any] = template.get("labels") or {}
    name = cluster.metadata.name
    return {
        labels.CLUSTER: name,
        labels.NODE_TYPE: labels.HEAD,
        labels.IDENTIFIER: names.identifier(name, labels.HEAD),
        labels.APP_NAME: of_template.get(labels.APP_NAME, labels.APP_NAME_VALUE),
        labels.CREATED_BY: labels.CREATED_BY_VALUE,
    }


def _head_selector(cluster: RayCluster) -> Object:
    """The same labels, with the values that the head's pod really has."""
    of_pod = head_labels(cluster)
    return {name: of_pod[name] for name in _head_labels(cluster)}


def _head_ports(cluster: RayCluster) -> list[Object]:
    return [{**port, "appProtocol": "tcp"} for port in _ports(cluster)]


def _ports(cluster: RayCluster) -> list[Object]:
    """The ports of the head's container, else Ray's own, by name; one port for one number."""
    ray: Object = cluster.spec.head_group_spec.template["spec"]["containers"][0]
    found: dict[str, int] = {}
    for port in ray.get("ports") or ():
        number: int = port["containerPort"]
        found[port.get("name") or f"{number}-port"] = number
    found = found or dict(_DEFAULT_PORTS)
    if _METRICS not in found and _DEFAULT_PORTS[_METRICS] not in found.values():
        found[_METRICS] = _DEFAULT_PORTS[_METRICS]
    # Several ports of one number are refused in a service, though not in a container.
    names_by_number: dict[int, str] = {}
    for name in sorted(found):
        names_by_number.setdefault(found[name], name)
    return [{"name": name, "port": number} for number, name in names_by_number.items()]
