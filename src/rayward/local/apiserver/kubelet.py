"""What the server asks a node's kubelet endpoint for: logs, and streams into the containers of a pod."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import orjson

from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.options import Query, flag, text
from rayward.local.apiserver.request import Request, Response, Stream
from rayward.net.certificates import Pair
from rayward.net.errors import NetworkError
from rayward.net.tls import ClientTls, client_context

if TYPE_CHECKING:
    from rayward.net.client import HttpClient, Route

_LOG_OPTIONS = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes", "stream")
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True, slots=True)
class Target:
    """A container of a pod, or the whole pod, on a node with a kubelet."""

    host: str
    namespace: str
    pod: str
    container: str
    """Empty where the whole pod is meant."""

    def path(self, kind: str) -> str:
        """The kubelet's path for it."""
        names = (self.namespace, self.pod, *((self.container,) if self.container else ()))
        return f"https://{self.host}/{kind}/" + "/".join(quote(name, safe="") for name in names)


def host_of(core: Core, name: str, pod: Object) -> str:
    """Where the kubelet of the pod's node listens."""
    node = section(pod, "spec").get("nodeName") or ""
    if not node:
        raise status.bad_request(f"pod {name} does not have a host assigned")
    return kubelet_of(core, node)


def kubelet_of(core: Core, name: str) -> str:
    """Where the kubelet of a node listens."""
    nodes = core.registry.find("", "v1", "nodes")
    assert nodes is not None
    record = core.objects.store.get(nodes.key("", name))
    if record is None:
        raise status.not_found(nodes, name)
    node = section(orjson.loads(record.value), "status")
    port = section(section(node, "daemonEndpoints"), "kubeletEndpoint").get("Port")
    addresses = {found["type"]: found["address"] for found in entries(node, "addresses")}
    address = addresses.get("InternalIP") or addresses.get("Hostname")
    if not port or not address:
        raise status.bad_request(f'node "{name}" has no kubelet endpoint: nothing runs its pods')
    return f"{address}:{port}"


def container_of(pod: Object, asked: str) -> str:
    """The container that is meant: the one named, the default one, or the only one."""
    spec, metadata = section(pod, "spec"), pod["metadata"]
    fields = ("containers", "initContainers", "ephemeralContainers")
    names: list[str] = [container["name"] for field in fields for container in entries(spec, field)]
    if asked:
        if asked not in names:
            raise status.bad_request(f"container {asked} is not valid for pod {metadata['name']}")
        return asked
    default = section(metadata, "annotations").get(_DEFAULT_CONTAINER)
    main: list[str] = [container["name"] for container in entries(spec, "containers")]
    if default in names:
        return default
    if len(main) == 1:
        return main[0]
    choices = f"choose one of: [{' '.join(main)}]"
    raise status.bad_request(f"a container name must be specified for pod {metadata['name']}, {choices}")


class Kubelets:
    """The server's own client of kubelets. Like kube-apiserver it shows a certificate and trusts the node's address.

    Nothing else may prove who we are: who writes a Node decides who hears it, and a token heard can be used again.
    """

    def __init__(self, identity: Pair, connect: Callable[[], HttpClient]) -> None:
        self._identity = identity
        self._connect = connect
        self._client: HttpClient | None = None
        self._route: Route | None = None

    @property
    def client(self) -> HttpClient:
        """The HTTP client, loaded with its first use."""
        if self._client is None:
            self._client = self._connect()
        return self._client

    @property
    def route(self) -> Route:
        """How kubelets are reached."""
        if self._route is None:
            from rayward.net import client

            certificate, key = self._identity.certificate.decode(), self._identity.key.decode()
            self._route = client.Route(tls=client_context(ClientTls(verify=False), certificate, key))
        return self._route

    async def close(self) -> None:
        """Let go of the connections."""
        if self._client is not None:
            await self._client.close()

    def target(self, core: Core, request: Request) -> Target:
        """The container a request is about."""
        live = core.objects.newest(request.resource, request.namespace, request.name)
        if live is None:
            raise status.not_found(request.resource, request.name)
        # a port belongs to the whole pod
        of_pod = request.info.subresource == "portforward"
        container = "" if of_pod else container_of(live.value, text(request.query, "container"))
        host = host_of(core, request.name, live.value)
        return Target(host, request.namespace, request.name, container)

    async def logs(self, core: Core, request: Request) -> Response | Stream:
        """Answer a GET of a pod's log; a pod that is on no node has said nothing."""
        live = core.objects.newest(request.resource, request.namespace, request.name)
        if live is not None and not section(live.value, "spec").get("nodeName"):
            return Response(200, b"", b"text/plain")
        target = self.target(core, request)
        url = target.path("containerLogs") + _asked(request.query)
        if flag(request.query, "follow"):
            parts = self._followed(target, url)
            # a refusal must be the answer, so it may not come after an answer has begun
            await anext(parts)
            return Stream(parts, b"text/plain")
        try:
            answer = await self.client.request("GET", url, route=self.route)
        except NetworkError as error:
            raise _unreachable(target, error) from None
        if answer.status != 200:
            raise refused(answer.status, answer.body)
        return Response(200, answer.body, b"text/plain")

    async def _followed(self, target: Target, url: str) -> AsyncIterator[bytes]:
        """Nothing as soon as the kubelet agrees, then what the log says."""
        async with AsyncExitStack() as opened:
            try:
                stream = await opened.enter_async_context(self.client.stream("GET", url, route=self.route))
                refusal = None if stream.status == 200 else refused(stream.status, await stream.read())
            except NetworkError as error:
                raise _unreachable(target, error) from None
            if refusal is not None:
                raise refusal
            yield b""
            async for part in stream:
                yield part

    async def connect(self, core: Core, request: Request) -> Response:
        """Answer an exec, attach or port-forward of a caller who stays with HTTP."""
        self.target(core, request)
        raise status.bad_request("Upgrade request required")


def _asked(query: Query) -> str:
    known = [(name, text(query, name)) for name in _LOG_OPTIONS if name in query]
    return f"?{urlencode(known)}" if known else ""


def refused(code: int, body: bytes) -> status.ApiError:
    """A kubelet's refusal as a Status."""
    message = body.decode(errors="replace").strip()
    reason = {400: "BadRequest", 404: "NotFound", 403: "Forbidden", 401: "Unauthorized"}.get(code, "InternalError")
    return status.ApiError(code if code < 500 else 503, reason, message)


def _unreachable(target: Target, error: NetworkError) -> status.ApiError:
    return status.unavailable(f"the kubelet at {target.host} does not answer: {error}")
