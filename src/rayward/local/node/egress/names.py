"""What a pod calls a service, for programs that leave names to their proxy. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.service import Service

_DOMAIN: Final = ".svc.cluster.local"


def service_key(host: str, namespace: str) -> Key | None:
    """The service that ``host`` means in a pod of a namespace: ``svc``, ``svc.ns`` or ``svc.ns.svc``."""
    name = host.rstrip(".").lower().removesuffix(_DOMAIN).removesuffix(".svc")
    match name.split("."):
        case [service] if service:
            return Key(namespace, service)
        case [service, home] if service and home:
            return Key(home, service)
        case _:
            return None


def namespace_of(client: str, pods: Iterable[Pod]) -> str | None:
    """The namespace of the pod that has an address."""
    return next((pod.metadata.namespace for pod in pods if pod.status.pod_ip == client), None)


def address_of(service: Service, pods: Iterable[Pod]) -> str | None:
    """Where a service is: its address, or, if it has none of its own, that of a pod that is ready."""
    spec = service.spec
    if spec.cluster_ip and spec.cluster_ip != "None":
        return spec.cluster_ip
    if not spec.selector:
        return None
    wanted = spec.selector.items()
    return next(
        (
            pod.status.pod_ip
            for pod in pods
            if pod.status.pod_ip and pod.ready and wanted <= (pod.metadata.labels or {}).items()
        ),
        None,
    )
