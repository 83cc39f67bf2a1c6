"""How a request gets to a pod or a service.

Inside a cluster directly, by name or address. From elsewhere through the API server, whose ``proxy`` subresources lead
to every service and pod and need no route into the cluster's network.
"""

from __future__ import annotations

from typing import Final, Protocol
from urllib.parse import quote

import msgspec
import orjson

from rayward.kube.client.errors import from_answer
from rayward.kube.client.request import Request
from rayward.kube.client.transport.base import Transport
from rayward.kube.client.values import as_dict
from rayward.net.client import Headers, HttpClient
from rayward.net.errors import NetworkError, ProtocolError
from rayward.operator.ray.errors import Unintelligible, Unreachable

_REFUSED: Final = 400


class ServicePort(msgspec.Struct, frozen=True):
    """A port of a Service; through the API server it goes by its name."""

    namespace: str
    name: str
    port: int
    port_name: str

    def __str__(self) -> str:
        return f"service {self.namespace}/{self.name} port {self.port}"


class PodPort(msgspec.Struct, frozen=True):
    """A port of a Pod."""

    namespace: str
    name: str
    address: str
    port: int

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.name} port {self.port}"


Place = ServicePort | PodPort


class Ask(msgspec.Struct, frozen=True):
    """A request to a place."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    seconds: float = 10.0
    max_body: int = 16 * 1024 * 1024


class Answer(msgspec.Struct, frozen=True):
    """What the place itself answered."""

    status: int
    body: bytes


class Reach(Protocol):
    """A way to a place."""

    async def ask(self, place: Place, ask: Ask) -> Answer:
        """The answer of the place itself, whatever its status.

        Raises:
            Unreachable: None came from there.
            Unintelligible: It is too large, or no HTTP.
        """
        ...


class NoReach:
    """No way anywhere: for who reads the registry and runs none of it, and for tests without dashboards."""

    async def ask(self, place: Place, ask: Ask) -> Answer:
        raise Unreachable(f"{place}: there is no route to dashboards here")


class DirectReach:
    """Over the cluster's own network."""

    def __init__(self, http: HttpClient, *, domain: str = "cluster.local") -> None:
        self._http = http
        self._domain = domain

    async def ask(self, place: Place, ask: Ask) -> Answer:
        """Ask the name of the service, or the address of the pod."""
        headers: Headers = [*ask.headers, *_content(ask)]
        try:
            answer = await self._http.request(
                ask.method,
                f"http://{self._host(place)}:{place.port}{ask.path}",
                headers=headers,
                body=ask.body,
                seconds=ask.seconds,
                max_body=ask.max_body,
            )
        except NetworkError as error:
            raise _told(place, error) from error
        return Answer(answer.status, answer.body)

    def _host(self, place: Place) -> str:
        if isinstance(place, ServicePort):
            return f"{place.name}.{place.namespace}.svc.{self._domain}"
        return f"[{place.address}]" if ":" in place.address else place.address


class ProxiedReach:
    """Through the API server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def ask(self, place: Place, ask: Ask) -> Answer:
        """Ask the proxy subresource of the service or the pod."""
        request = Request(
            ask.method,
            _proxy_path(place) + ask.path,
            body=ask.body,
            accept="*/*",
            seconds=ask.seconds,
            headers=ask.headers,
            max_body=ask.max_body,
        )
        try:
            answer = await self._transport.request(request)
        except NetworkError as error:
            raise _told(place, error) from error
        if answer.status >= _REFUSED and _is_status(answer.body):
            refusal = from_answer(answer.status, answer.headers, answer.body, str(request))
            raise Unreachable(f"{place}: not to be reached through the API server: {refusal}")
        return Answer(answer.status, answer.body)


def _proxy_path(place: Place) -> str:
    namespace, name = quote(place.namespace, safe=""), quote(place.name, safe="")
    if isinstance(place, ServicePort):
        return f"/api/v1/namespaces/{namespace}/services/{name}:{place.port_name}/proxy"
    return f"/api/v1/namespaces/{namespace}/pods/{name}:{place.port}/proxy"


def _content(ask: Ask) -> Headers:
    return () if ask.body is None else (("Content-Type", "application/json"),)


def _told(place: Place, error: NetworkError) -> Unreachable | Unintelligible:
    if isinstance(error, ProtocolError):
        return Unintelligible(f"{place}: {error}")
    return Unreachable(f"{place}: {error}")


def _is_status(body: bytes) -> bool:
    """Whether the API server itself speaks: Ray refuses in plain text."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    status = as_dict(parsed)
    return status.get("kind") == "Status" and status.get("apiVersion") == "v1"
