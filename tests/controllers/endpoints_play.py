"""Services, and the pods behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import ENDPOINT_SLICES, PODS, SERVICES, Resource
from tests.controllers.plays import Object, Play, make_node, ordered, set_status

ENDPOINTS: Final = Resource("", "v1", "endpoints", "Endpoints")
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_FUTURE: Final = "2040-01-01T00:00:"


def _pod(name: str, node: str, port: int = 8080, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": port}]}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": containers, **spec},
    }


def _service(name: str, **spec: Any) -> Object:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}, {"name": "metrics", "port": 9090}]
    metadata = {"name": name, "labels": {"team": "red"}}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


def _running(number: int, *, ready: bool, second: int) -> Object:
    """Running, at an address; since a second of its own."""
    address = f"10.42.0.{number}"
    state = "True" if ready else "False"
    condition = {"type": "Ready", "status": state, "lastTransitionTime": f"{_FUTURE}{second:02}Z"}
    return {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [condition]}


async def _steps(client: Client, namespace: str) -> AsyncIterator[str]:
    async def status(pod: str, **state: Any) -> None:
        await set_status(client, namespace, pod, state)

    async def change(service: str, change: Object) -> None:
        await client.patch(SERVICES, service, change, PatchType.MERGE, namespace)

    here, there = f"{namespace}-a", f"{namespace}-b"
    await make_node(client, here, {"topology.kubernetes.io/zone": "z1"})
    await make_node(client, there)
    await client.create(SERVICES, _service("web"), namespace)
    yield "a service without pods"
    await client.create(PODS, _pod("one", here), namespace)
    await status("one", **_running(1, ready=False, second=1))
    yield "a pod that is not ready"
    await status("one", **_running(1, ready=True, second=2))
    yield "it is ready"
    await client.create(PODS, _pod("two", there), namespace)
    await status("two", **_running(2, ready=True, second=3))
    yield "another on another node"
    await client.create(PODS, _pod("three", there, port=8081), namespace)
    await status("three", **_running(3, ready=True, second=4))
    yield "one that has the port elsewhere"
    await client.create(PODS, _pod("four", "nowhere"), namespace)
    await status("four", **_running(4, ready=True, second=5))
    yield "one on a node that is not there"
    await change("web", {"metadata": {"labels": {"team": "blue", "tier": "front"}}})
    yield "the service has other labels"
    await client.delete(PODS, "two", namespace, grace_period_seconds=30)
    yield "one is going"
    await status("two", **_running(2, ready=False, second=6))
    yield "and no longer ready"
    await client.delete(PODS, "two", namespace, grace_period_seconds=0)
    yield "and gone"
    await status("three", phase="Succeeded", conditions=_running(3, ready=False, second=7)["conditions"])
    yield "one is over"
    quiet = _service("quiet", clusterIP="None", publishNotReadyAddresses=True)
    await client.create(SERVICES, quiet, namespace)
    yield "a headless service for pods that are not ready too"
    await client.create(PODS, _pod("five", here, hostname="five", subdomain="quiet"), namespace)
    await status("five", **_running(5, ready=False, second=8))
    yield "a pod with a name in it"
    await client.delete(PODS, "five", namespace, grace_period_seconds=30)
    yield "which is going"
    await change("web", {"spec": {"ports": [{"name": "http", "port": 80, "targetPort": 7000}]}})
    yield "other ports"
    await change("web", {"spec": {"selector": {"app": "other"}}})
    yield "another selector"
    await client.create(SERVICES, _service("bare", clusterIP="None", ports=None), namespace)
    yield "a headless service without ports"
    await change("web", {"spec": {"selector": None}})
    yield "no selector"
    await client.delete(SERVICES, "quiet", namespace)
    yield "a service is deleted"
    for pod in ("one", "three", "four", "five"):
        await client.delete(PODS, pod, namespace, grace_period_seconds=0)
    yield "all pods are gone"
    await client.delete(SERVICES, "bare", namespace)
    await client.delete(SERVICES, "web", namespace)
    yield "all services are gone"


async def _observe(client: Client, namespace: str) -> Object:
    slices = (await client.list(ENDPOINT_SLICES, namespace)).items
    older = (await client.list(ENDPOINTS, namespace)).items
    pods = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in (await client.list(PODS, namespace)).items}
    services = {
        found["metadata"]["uid"]: found["metadata"]["name"] for found in (await client.list(SERVICES, namespace)).items
    }
    known = {**pods, **services}
    return {
        "slices": ordered(_slice(found, known, namespace) for found in slices),
        "endpoints": ordered(_older(found, known, namespace) for found in older),
    }


def _slice(found: Object, known: dict[str, str], namespace: str) -> Object:
    endpoints = [_endpoint(endpoint, known, namespace) for endpoint in found["endpoints"] or []]
    return {
        "metadata": _metadata(found["metadata"], known),
        "addressType": found["addressType"],
        "endpoints": ordered(endpoints),
        "ports": ordered(found["ports"] or []),
    }


def _older(found: Object, known: dict[str, str], namespace: str) -> Object:
    subsets: list[Object] = []
    for subset in found.get("subsets") or []:
        made = {
            name: ordered(_endpoint(address, known, namespace) for address in subset[name])
            for name in ("addresses", "notReadyAddresses")
            if name in subset
        }
        subsets.append({**made, "ports": ordered(subset.get("ports") or [])})
    metadata = {**_metadata(found["metadata"], known), "name": found["metadata"]["name"]}
    return {"metadata": metadata, "subsets": ordered(subsets)}


def _endpoint(endpoint: Object, known: dict[str, str], namespace: str) -> Object:
    target = endpoint["targetRef"]
    masked = {**target, "namespace": "<here>", "uid": known.get(target["uid"], "<gone>")}
    shown: Object = {**endpoint, "targetRef": masked}
    if "nodeName" in shown:
        shown["nodeName"] = shown["nodeName"].replace(namespace, "node")
    return shown


def _metadata(metadata: Object, known: dict[str, str]) -> Object:
    annotations: dict[str, str] = metadata.get("annotations") or {}
    owners = [{**owner, "uid": known.get(owner["uid"], "<gone>")} for owner in metadata.get("ownerReferences") or []]
    trigger = annotations.get(_TRIGGER)
    return {
        "prefix": metadata.get("generateName"),
        "labels": metadata.get("labels"),
        "trigger": trigger if trigger is None or trigger.startswith(_FUTURE) else "<then>",
        "annotations": sorted(annotations.keys() - {_TRIGGER}),
        "owners": owners,
    }


ENDPOINTS_PLAY: Final = Play("endpoints", _steps, _observe)
