"""What every cluster has, and every namespace in it."""

from __future__ import annotations

from typing import Final

import msgspec

from rayward.kube.core.objects import Key
from rayward.kube.machinery.jsonvalue import Object

SYSTEM_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
ACCOUNT: Final = "default"
AUTHORITY: Final = "kube-root-ca.crt"
SERVICE: Final = Key("default", "kubernetes")
_AUTHORITY_NOTE: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class Published(msgspec.Struct, frozen=True):
    """Where the ``kubernetes`` Service is, and the server it leads to. A loopback address is no endpoint."""

    cluster_ip: str
    address: str
    port: int


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def account(space: str) -> Object:
    """The service account that pods run as unless they name another."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": space}}


def authority(space: str, certificate: str) -> Object:
    """The ConfigMap with which pods check the server's certificate."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": AUTHORITY,
            "namespace": space,
            "annotations": {"kubernetes.io/description": _AUTHORITY_NOTE},
        },
        "data": {"ca.crt": certificate},
    }


def service(published: Published) -> Object:
    """The Service of the server itself."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": SERVICE.name,
            "namespace": SERVICE.namespace,
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": published.cluster_ip,
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": published.port}],
        },
    }


def endpoints(published: Published) -> Object:
    """The old form of where the Service leads; the label says that no slice need be made of it."""
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": SERVICE.name,
            "namespace": SERVICE.namespace,
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [
            {
                "addresses": [{"ip": published.address}],
                "ports": [{"name": "https", "port": published.port, "protocol": "TCP"}],
            }
        ],
    }


def endpoint_slice(published: Published) -> Object:
    """Where the Service leads."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": SERVICE.name,
            "namespace": SERVICE.namespace,
            "labels": {"kubernetes.io/service-name": SERVICE.name},
        },
        "addressType": "IPv6" if ":" in published.address else "IPv4",
        "endpoints": [{"addresses": [published.address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": published.port, "protocol": "TCP"}],
    }
