"""Which pods take requests: the label that the serve Services select.

A pod takes requests when its own Serve proxy leads to the applications of its release, not when Serve's controller
calls the proxy healthy. A head is born without the label and loses it whenever it is not ready: it may come back with
an empty Serve. A worker is born with it, as KubeRay's are, and its readiness probe asks its proxy: the label is
withdrawn only where routes are known to be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kube.machinery.jsonvalue import entries, is_object, section
from rayward.operator.cluster.pod import RayPod
from rayward.operator.ray.answers import RUNNING
from rayward.operator.ray.observation import Observation, ProxyPod, Routes
from rayward.operator.ray.reach import PodPort
from rayward.operator.service.annotations import ClusterAnnotations
from rayward.operator.service.state import ChildCluster, PodLabel, ServePod

_PORT: Final = 8000
_HEALTHY: Final = "HEALTHY"


def pod_labels(clusters: Iterable[ChildCluster], traffic: Mapping[str, int], *, no_heads: bool) -> list[PodLabel]:
    """The labels that change; ``no_heads`` keeps heads out of the traffic."""
    return [
        PodLabel(pod.name, pod.uid, label)
        for cluster in clusters
        for pod in cluster.pods
        if (label := _label(pod, serving=bool(traffic.get(cluster.name)), no_heads=no_heads)) != pod.label
    ]


def _label(pod: ServePod, *, serving: bool, no_heads: bool) -> str:
    if pod.is_head:
        return "true" if pod.leads and not no_heads else "false"
    if pod.leads:
        return "true"
    # The label of a worker does no harm where no requests go to its cluster.
    return "false" if serving and pod.leads is False else pod.label


def serve_pod(pod: RayPod, observation: Observation, required: frozenset[str]) -> ServePod:
    """What is known of a head or a worker; ``required`` are the applications that it has to lead to."""
    current = pod.metadata.label(labels.SERVE)
    answer = observation.routes.get(pod.incarnation)
    if pod.is_head:
        leads: bool | None = _head_serves(pod, observation, required, current, answer)
    elif answer is Routes.ALL or (answer is Routes.SILENT and _all_run(observation, required)):
        # Where Serve's port is not to be reached from here, the controller's word has to do; the probe still counts.
        leads = True
    else:
        leads = False if observation.starting or answer is Routes.MISSING else None
    return ServePod(pod.metadata.name, pod.metadata.uid, current, pod.is_head, leads)


def required_routes(noted: ClusterAnnotations) -> frozenset[str]:
    """The applications that every pod in traffic leads to.

    While a changed config is rolled out in place, these are the applications of both configs: a new one has no route
    until it runs, and that must not take the others out of traffic.
    """
    wanted = _routed_applications(noted.config)
    return wanted & _routed_applications(noted.good_config) if noted.good_config else wanted


def proxy_pods(cluster: RayCluster, pods: Iterable[RayPod]) -> tuple[ProxyPod, ...]:
    """The pods to be asked for their routes: those that would get requests with the label."""
    port = _serve_port(cluster)
    namespace = cluster.metadata.namespace
    ready = (pod for pod in pods if pod.ready and not pod.deleting and pod.status.pod_ip)
    found = [ProxyPod(pod.incarnation, PodPort(namespace, pod.metadata.name, pod.status.pod_ip, port)) for pod in ready]
    return tuple(sorted(found, key=lambda pod: pod.incarnation))


def _head_serves(
    pod: RayPod, observation: Observation, required: frozenset[str], current: str, answer: Routes | None
) -> bool:
    if not pod.ready:
        return False
    if answer is None or observation.serve is None:
        # Not asked yet, as after a restart of the operator: what was so stays so, but not into another session.
        return current == "true" and not observation.starting
    serve = observation.serve
    healthy = any(
        proxy.node_instance_id == pod.metadata.name and proxy.status == _HEALTHY for proxy in serve.proxies.values()
    )
    if not healthy or answer is not Routes.SILENT:
        return healthy and answer is Routes.ALL
    # Serve's port is not to be reached from here: the controller's word has to do.
    return _all_run(observation, required) or (current == "true" and not observation.starting)


def _all_run(observation: Observation, required: frozenset[str]) -> bool:
    serve = observation.serve
    if serve is None or observation.starting:
        return False
    return all((app := serve.applications.get(name)) is not None and app.status == RUNNING for name in required)


def _routed_applications(config: str) -> frozenset[str]:
    try:
        whole: Any = orjson.loads(config) if config else {}
    except orjson.JSONDecodeError:
        return frozenset()
    found = (app for app in entries(whole, "applications") if is_object(app)) if is_object(whole) else ()
    return frozenset(str(app.get("name", "default")) for app in found if app.get("route_prefix", "/") is not None)


def _serve_port(cluster: RayCluster) -> int:
    spec: Mapping[str, Any] = section(dict(cluster.spec.head_group_spec.template), "spec")
    containers = entries(dict(spec), "containers")
    ports = entries(containers[0], "ports") if containers and is_object(containers[0]) else []
    found = (port.get("containerPort") for port in ports if is_object(port) and port.get("name") == "serve")
    return next((port for port in found if isinstance(port, int)), _PORT)
