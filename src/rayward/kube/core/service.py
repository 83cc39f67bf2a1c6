"""Service and EndpointSlice, as far as controllers and traffic read them."""

from __future__ import annotations

import msgspec

from rayward.kube.core.objects import KubeObject, Slim


class ServicePort(Slim, frozen=True, gc=False):
    """One port of a service; ``target_port`` is a number or a container port's name."""

    port: int = 0
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None
    node_port: int | None = None
    app_protocol: str | None = None


class ClientAffinity(Slim, frozen=True, gc=False):
    """How long a client stays with its endpoint."""

    timeout_seconds: int | None = None


class AffinityConfig(Slim, frozen=True, gc=False):
    """The settings of a session affinity."""

    client_ip: ClientAffinity | None = msgspec.field(default=None, name="clientIP")


class ServiceSpec(Slim, frozen=True, gc=False):
    """The part of a service's spec that is read."""

    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] | None = None
    ports: tuple[ServicePort, ...] | None = None
    publish_not_ready_addresses: bool = False
    session_affinity: str = "None"
    session_affinity_config: AffinityConfig | None = None
    external_name: str = ""
    load_balancer_class: str | None = None


class Ingress(Slim, frozen=True, gc=False):
    """One address of a load balancer."""

    ip: str = ""
    hostname: str = ""


class LoadBalancer(Slim, frozen=True, gc=False):
    """The addresses of a load balancer."""

    ingress: tuple[Ingress, ...] | None = None


class ServiceStatus(Slim, frozen=True, gc=False):
    """What a load balancer gave the service."""

    load_balancer: LoadBalancer | None = None


_NO_SPEC = ServiceSpec()
_NO_STATUS = ServiceStatus()


class Service(KubeObject, frozen=True, gc=False):
    spec: ServiceSpec = _NO_SPEC
    status: ServiceStatus = _NO_STATUS


class TargetRef(Slim, frozen=True, gc=False):
    """The object behind an endpoint."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class EndpointConditions(Slim, frozen=True, gc=False):
    """Whether an endpoint takes requests; absent means what Kubernetes says it means."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


_UNKNOWN = EndpointConditions()


class Endpoint(Slim, frozen=True, gc=False):
    """One endpoint of a service."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = _UNKNOWN
    hostname: str | None = None
    node_name: str | None = None
    target_ref: TargetRef | None = None


class EndpointPort(Slim, frozen=True, gc=False):
    """One port that all endpoints of a slice have."""

    name: str | None = None
    port: int | None = None
    protocol: str | None = None
    app_protocol: str | None = None


class EndpointSlice(KubeObject, frozen=True, gc=False):
    """Some endpoints of a service. Go writes empty lists here as null."""

    address_type: str = "IPv4"
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[EndpointPort, ...] | None = None
