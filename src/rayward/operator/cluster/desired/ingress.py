"""The way to the dashboard from outside."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import IngressOptions, RayCluster
from rayward.kube.core.resource import INGRESSES
from rayward.operator.cluster.desired import features, services
from rayward.operator.cluster.desired.children import Object, application_labels, child, fresh

_CLASS: Final = "kubernetes.io/ingress.class"


def ingress(cluster: RayCluster) -> Object | None:
    """The ingress, where the manifest asks for one; the cluster's annotations are its settings."""
    group = cluster.spec.head_group_spec
    if not group.enable_ingress:
        return None
    name = cluster.metadata.name
    its_labels = application_labels(cluster) | {labels.IDENTIFIER: names.identifier(name, labels.HEAD)}
    settings = dict(cluster.metadata.annotations or {})
    class_name = settings.pop(_CLASS, None)
    service = {"name": features.head_service_name(cluster), "port": {"number": services.dashboard_port(cluster)}}
    spec: Object = {"rules": [_rule(name, group.ingress_options, {"service": service})]}
    if group.ingress_options is not None and group.ingress_options.tls:
        spec["tls"] = fresh(group.ingress_options.tls)
    if class_name is not None:
        spec["ingressClassName"] = class_name
    return {**child(cluster, INGRESSES, names.ingress(name), its_labels, settings), "spec": spec}


def _rule(cluster: str, options: IngressOptions | None, backend: Object) -> Object:
    if options is None:
        # Kept for the ingress controllers that read it as a pattern, as every KubeRay user's does.
        path = {"path": f"/{cluster}/(.*)", "pathType": "Exact", "backend": backend}
        return {"http": {"paths": [path]}}
    path = {"path": options.path or "/", "pathType": options.path_type or "Prefix", "backend": backend}
    rule: Object = {"http": {"paths": [path]}}
    return {"host": options.host, **rule} if options.host else rule
