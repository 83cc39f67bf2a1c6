"""Whom a ``proxy`` request means: a port of a pod, of a pod behind a service, or a node's kubelet."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import orjson

from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.kubelet import host_of, kubelet_of
from rayward.local.apiserver.request import Request

_SLICES = "/endpointslices.discovery.k8s.io/"
_SCHEMES = frozenset({"", "http", "https"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a proxied request goes."""

    kubelet: str
    """The kubelet through which it is reached, or which it is."""
    host: str
    """Address and port, as the links of its pages may name it."""
    path: str = ""
    """What the kubelet is asked for, to be connected to a pod; empty: the kubelet itself is meant."""


def unreachable(message: str) -> status.ApiError:
    """Nobody can answer now. Unlike other refusals of the kind it does not say when to try again."""
    return status.ApiError(503, "ServiceUnavailable", message)


def split_name(name: str) -> tuple[str, str, str] | None:
    """Scheme, name and port of ``name``, ``name:port`` or ``scheme:name:port``; None if it is none of these."""
    parts = name.split(":")
    if len(parts) > 3:
        return None
    scheme = parts[0] if len(parts) == 3 else ""
    meant = parts[1] if len(parts) == 3 else parts[0]
    port = parts[-1] if len(parts) > 1 else ""
    return (scheme, meant, port) if meant and scheme in _SCHEMES else None


def place_of(core: Core, request: Request) -> Place:
    """Find whom the request means.

    Raises:
        ApiError: Nobody, in kube-apiserver's words.
    """
    kind = request.resource.plural
    split = split_name(request.name)
    if split is None:
        raise status.bad_request(f'invalid {kind.removesuffix("s")} request "{request.name}"')
    scheme, name, port = split
    if kind == "nodes":
        return _node(core, name, port)
    if kind == "pods":
        return _pod(core, request, scheme, name, port)
    return _service(core, request, scheme, name, port)


def _node(core: Core, name: str, port: str) -> Place:
    host = kubelet_of(core, name)
    if port and port != host.rpartition(":")[2]:
        raise status.bad_request("address not allowed")
    return Place(host, host)


def _pod(core: Core, request: Request, scheme: str, name: str, port: str) -> Place:
    pods = core.registry.find("", "v1", "pods")
    assert pods is not None
    live = core.objects.newest(pods, request.namespace, name)
    if live is None:
        raise status.not_found(pods, name)
    address = section(live.value, "status").get("podIP")
    if not address:
        raise status.bad_request("address not allowed")
    if not port:
        default = 443 if scheme == "https" else 80
        port = str(next(_container_ports(live.value), default))
    if not port.isdigit():
        raise status.bad_request(f'invalid pod request "{request.name}": port "{port}" is no number')
    asked = urlencode({"port": port, **({"scheme": scheme} if scheme else {})})
    path = f"/connect/{quote(request.namespace, safe='')}/{quote(name, safe='')}?{asked}"
    return Place(host_of(core, name, live.value), f"{address}:{port}", path)


def _container_ports(pod: Object) -> Iterator[int]:
    for container in entries(section(pod, "spec"), "containers"):
        for port in entries(container, "ports"):
            yield port["containerPort"]


def _service(core: Core, request: Request, scheme: str, name: str, port: str) -> Place:
    live = core.objects.newest(request.resource, request.namespace, name)
    if live is None:
        raise status.not_found(request.resource, name)
    if port.isdigit():
        named = {declared["port"]: declared.get("name", "") for declared in entries(live.value["spec"], "ports")}
        if int(port) not in named:
            raise unreachable(f'no service port {port} found for service "{name}"')
        port = named[int(port)]
    store = core.objects.store
    records = [store.newest(key) for key in store.keys(f"{_SLICES}{request.namespace}/")]
    slices = [orjson.loads(record.value) for record in records if record is not None]
    found = ready_pods(slices, name, port)
    if found is None:
        raise unreachable(f'no endpoints available for service "{name}"')
    if not found:
        raise unreachable(f'no endpoints available for service "{request.name}"')
    pod, number = random.choice(found)  # noqa: S311 - a choice of load, not of secrets
    return _pod(core, request, scheme, pod, str(number))


def ready_pods(slices: Sequence[Object], service: str, port: str) -> list[tuple[str, int]] | None:
    """Names of ready pods behind a service and their number of the port of that name; None: nobody is behind it."""
    own = [one for one in slices if section(one["metadata"], "labels").get("kubernetes.io/service-name") == service]
    if not any(entries(one, "endpoints") for one in own):
        return None
    found: list[tuple[str, int]] = []
    for one in own:
        number: int = next((each["port"] for each in entries(one, "ports") if (each.get("name") or "") == port), 0)
        for endpoint in entries(one, "endpoints") if number else ():
            target = section(endpoint, "targetRef")
            if section(endpoint, "conditions").get("ready") is not False and target.get("kind") == "Pod":
                found.append((target["name"], number))
    return found
