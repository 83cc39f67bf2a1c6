"""Reaching a program elsewhere that this server asks: by its address, or by the service that it is behind."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rayward.local.apiserver.behaviour import Object
from rayward.net.tls import ClientTls, client_context

if TYPE_CHECKING:
    from rayward.net.client import HttpClient, Route

_HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json"))


class RefusedError(Exception):
    """The program answered, but not with success."""


@dataclass(frozen=True, slots=True)
class Service:
    """The service that a webhook is behind. It may come and move after the webhook, so each call looks it up."""

    namespace: str
    name: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a webhook is, and who vouches for it."""

    url: str
    """Where it is reached, or under which name it is known if it is behind a service."""
    service: Service | None
    authority: str | None
    """PEM of who signed the webhook's certificate."""
    server_name: str | None


def endpoint_of(client: Object) -> Endpoint:
    """The endpoint in a WebhookClientConfig."""
    declared: Object | None = client.get("service")
    if declared is None:
        return Endpoint(client.get("url") or "", None, _pem(client.get("caBundle")), None)
    path = declared.get("path") or "/"
    service = Service(declared["namespace"], declared["name"], declared.get("port", 443), path)
    name = f"{service.name}.{service.namespace}.svc"
    return Endpoint(f"https://{name}:{service.port}{path}", service, _pem(client.get("caBundle")), name)


def _pem(bundle: str | None) -> str | None:
    # any bytes may be stored: what is no PEM fails when the webhook is called, as its policy says
    return base64.b64decode(bundle).decode("ascii", "backslashreplace") if bundle else None


class Caller:
    """One HTTP client for all webhooks; the route to each is made once."""

    def __init__(self, connect: Callable[[], HttpClient], resolve: Callable[[str, str, int], str]) -> None:
        self._connect = connect
        self._client: HttpClient | None = None
        self._resolve = resolve
        self._routes: dict[Endpoint, Route] = {}

    def forget(self) -> None:
        """Make all routes anew: certificates may have changed."""
        self._routes = {}

    async def post(self, endpoint: Endpoint, body: bytes, seconds: int) -> bytes:
        """The answer to a body. Raises NetworkError, TlsError, TimeoutError, and RefusedError for another code."""
        service, url = endpoint.service, endpoint.url
        if service is not None:
            url = f"https://{self._resolve(service.namespace, service.name, service.port)}{service.path}"
        url += f"{'&' if '?' in url else '?'}timeout={seconds}s"
        self._client = self._client or self._connect()
        async with asyncio.timeout(seconds):
            answer = await self._client.request("POST", url, headers=_HEADERS, body=body, route=self._route(endpoint))
        if answer.status != 200:
            shown = answer.body[:200].decode(errors="replace")
            raise RefusedError(f"the server answered {answer.status}: {shown}")
        return answer.body

    def _route(self, endpoint: Endpoint) -> Route:
        known = self._routes.get(endpoint)
        if known is None:
            tls = ClientTls(authority=endpoint.authority, server_name=endpoint.server_name)
            from rayward.net import client

            known = self._routes[endpoint] = client.Route(tls=client_context(tls), server_name=endpoint.server_name)
        return known

    async def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.close()
