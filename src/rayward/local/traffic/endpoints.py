"""Which endpoints of a service take something new. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kube.core.service import Endpoint, EndpointSlice, Service, ServicePort

BACKENDS: Final = labels.BACKENDS
_MOST_BACKENDS: Final = 32
_HEAVIEST: Final = 1_000_000
_SERVE_PORT: Final = 8000
_HTTP: Final = ("http", "kubernetes.io/ws")


class Found(msgspec.Struct, frozen=True):
    """An endpoint and the port it has for a port of the service."""

    pod: str
    """Empty where no pod is behind it."""
    address: str
    port: int


class Share(msgspec.Struct, frozen=True):
    """How much of the traffic goes to the endpoints of a service."""

    service: str
    weight: int = 1


def speaks_http(port: ServicePort) -> bool:
    """Whether requests of this port are moved one by one."""
    return port.protocol == "TCP" and (
        port.name == "serve"
        or port.name.startswith("serve-")
        or port.app_protocol in _HTTP
        or (port.app_protocol is None and port.port == _SERVE_PORT)
    )


def find(port: ServicePort, slices: Iterable[EndpointSlice]) -> tuple[Found, ...]:
    """The endpoints that take something new: the ready ones, or, if none is, those that end but still serve."""
    ready: dict[Found, None] = {}
    serving: dict[Found, None] = {}
    for one in slices:
        if one.address_type != "IPv4":
            continue
        number = _number(port, one)
        if number is None:
            continue
        for endpoint in one.endpoints or ():
            chosen = ready if is_ready(endpoint) else serving if _still_serves(endpoint) else None
            if chosen is not None:
                for address in endpoint.addresses[:1]:
                    chosen[Found(pod_of(endpoint), address, number)] = None
    return tuple(ready or serving)


def is_ready(endpoint: Endpoint) -> bool:
    """Unknown counts as ready, as Kubernetes says."""
    return endpoint.conditions.ready is not False


def pod_of(endpoint: Endpoint) -> str:
    """The pod behind an endpoint, if any."""
    target = endpoint.target_ref
    return target.name if target is not None and target.kind == "Pod" else ""


def _still_serves(endpoint: Endpoint) -> bool:
    conditions = endpoint.conditions
    return conditions.terminating is True and conditions.serving is not False


def _number(port: ServicePort, one: EndpointSlice) -> int | None:
    for found in one.ports or ():
        if (found.name or "") == port.name and (found.protocol or "TCP") == port.protocol:
            return found.port
    return None


def counterpart(port: ServicePort, ports: Sequence[ServicePort]) -> ServicePort | None:
    """The port of another service that stands for ``port``: of its name, else of its number."""
    same = [one for one in ports if one.protocol == port.protocol]
    return next(
        (one for one in same if port.name and one.name == port.name),
        next((one for one in same if one.port == port.port), None),
    )


def shares(service: Service) -> tuple[Share, ...] | str | None:
    """How a service divides its traffic; None if it does not, a text if its annotation is wrong."""
    text = service.metadata.annotation(BACKENDS)
    if not text:
        return None
    try:
        found: list[Any] = msgspec.json.decode(text, type=list[Any])
        divided = msgspec.convert(found, tuple[Share, ...])
    except msgspec.DecodeError as error:
        return f'{BACKENDS} is no list like [{{"service": "a", "weight": 90}}]: {error}'
    if not 0 < len(divided) <= _MOST_BACKENDS:
        return f"{BACKENDS} must name 1 to {_MOST_BACKENDS} services"
    if any(not 0 <= share.weight <= _HEAVIEST for share in divided):
        return f"{BACKENDS}: weights are numbers from 0 to {_HEAVIEST}"
    return divided
