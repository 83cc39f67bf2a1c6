"""Requests over the standard library, for the command line: nothing here is slow to import."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from rayward.kube.client.access import Access
from rayward.kube.client.credentials import ConfigError, Credential, NoCredentials
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.headers import USER_AGENT, request_headers
from rayward.net.errors import ConnectFailed, ConnectionLost, ProtocolError, TimedOut
from rayward.net.proxy import proxy_authorization
from rayward.net.tls import TlsError, client_context

_UNAUTHORIZED = 401
_CONNECT_SECONDS = 10.0
_READ = 256 * 1024


class BlockingTransport:
    """One server, one user. Several threads may share it; each request has a connection to itself."""

    def __init__(self, access: Access, *, user_agent: str = USER_AGENT) -> None:
        self._access = access
        self._agent = user_agent
        self._server = urlsplit(access.server)
        self._idle: list[tuple[Credential, http.client.HTTPConnection]] = []
        self._context: tuple[Credential, ssl.SSLContext] | None = None

    def request(self, request: Request) -> Response:
        """Send and read the whole answer."""
        credential = self._credential()
        response = self._send(request, credential)
        if response.status == _UNAUTHORIZED and self._access.credentials.reject(credential):
            response = self._send(request, self._credential())
        return response

    @contextmanager
    def stream(self, request: Request) -> Generator[BlockingStream]:
        """Send and read the answer in parts."""
        credential = self._credential()
        connection, answer = self._exchange(request, credential)
        if answer.status == _UNAUTHORIZED and self._access.credentials.reject(credential):
            connection.close()
            connection, answer = self._exchange(request, self._credential())
        with closing(connection), closing(answer):
            yield BlockingStream(answer, str(request))

    def close(self) -> None:
        """Let go of every connection."""
        while self._idle:
            self._idle.pop()[1].close()

    def _send(self, request: Request, credential: Credential) -> Response:
        connection, answer = self._exchange(request, credential)
        # Closed by its finalizer, the answer would lose a Ctrl-C that arrives meanwhile: Python ignores errors there.
        with _translated(str(request), connection), closing(answer):
            body = answer.read()
        if len(body) > request.max_body:
            connection.close()
            raise ProtocolError(f"{request}: the answer is larger than {request.max_body} bytes")
        if answer.will_close:
            connection.close()
        else:
            self._idle.append((credential, connection))
        return Response(answer.status, _headers(answer), body)

    def _exchange(
        self, request: Request, credential: Credential
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection(credential, str(request))
        path, proxy_headers = self._server.path + request.target, {}
        if self._access.proxy is not None and self._server.scheme == "http":
            path, proxy_headers = self._access.server + request.target, _proxy_headers(self._access.proxy)
        with _translated(str(request), connection):
            _sock(connection).settimeout(request.seconds)
            connection.putrequest(request.method, path, skip_accept_encoding=True)
            for name, value in request_headers(request, self._access, credential, self._agent):
                connection.putheader(name, value)
            for name, value in proxy_headers.items():
                connection.putheader(name, value)
            if request.body is not None:
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body)
            return connection, connection.getresponse()

    def _connection(self, credential: Credential, what: str) -> http.client.HTTPConnection:
        while self._idle:
            owner, connection = self._idle.pop()
            # A readable idle connection has been closed by the server: a request on it would be lost.
            if owner == credential and not _readable(_sock(connection)):
                return connection
            connection.close()
        connection = self._new(credential)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise ConnectFailed(f"{what}: cannot connect to {self._access.server}: {error}") from error
        return connection

    def _new(self, credential: Credential) -> http.client.HTTPConnection:
        host, port = self._server.hostname or "", self._server.port
        if self._access.proxy is None:
            return self._direct(host, port, credential)
        proxy = urlsplit(self._access.proxy)
        if proxy.scheme != "http":
            raise ConfigError(f"proxy {proxy.scheme}://{proxy.hostname}: only http:// proxies are supported here")
        if self._server.scheme == "http":
            return http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80, timeout=_CONNECT_SECONDS)
        connection = self._direct(proxy.hostname or "", proxy.port or 80, credential)
        connection.set_tunnel(host, port or 443, _proxy_headers(self._access.proxy))
        return connection

    def _direct(self, host: str, port: int | None, credential: Credential) -> http.client.HTTPConnection:
        if self._server.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        name = self._access.tls.server_name or self._server.hostname or ""
        return _TlsConnection(host, port, self._tls(credential), name)

    def _credential(self) -> Credential:
        return self._access.credentials.fresh() or self._access.credentials.load()

    def _tls(self, credential: Credential) -> ssl.SSLContext:
        if self._context is not None and self._context[0] == credential:
            return self._context[1]
        try:
            context = client_context(self._access.tls, credential.certificate, credential.key)
        except TlsError as error:
            raise NoCredentials(str(error)) from error
        self._context = (credential, context)
        return context


class BlockingStream:
    """An answer that comes in parts."""

    def __init__(self, answer: http.client.HTTPResponse, what: str) -> None:
        self._answer = answer
        self._what = what
        self.status = answer.status
        self.headers: Mapping[str, str] = _headers(answer)

    def __iter__(self) -> Iterator[bytes]:
        """The parts as they arrive."""
        while True:
            with _translated(self._what):
                part = self._answer.read1(_READ)
            if not part:
                return
            yield part


class _TlsConnection(http.client.HTTPConnection):
    """TLS to a server whose certificate may carry another name than its address."""

    default_port = 443

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext, server_name: str) -> None:
        super().__init__(host, port, timeout=_CONNECT_SECONDS)
        self._tls_context = context
        self._server_name = server_name

    def connect(self) -> None:
        super().connect()
        self.sock = self._tls_context.wrap_socket(_sock(self), server_hostname=self._server_name)


def _readable(sock: socket.socket) -> bool:
    # select() fails for descriptors from 1024 on.
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _sock(connection: http.client.HTTPConnection) -> socket.socket:
    return connection.sock


def _proxy_headers(proxy: str) -> dict[str, str]:
    authorization = proxy_authorization(proxy)
    return {"Proxy-Authorization": authorization} if authorization else {}


def _headers(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}


@contextmanager
def _translated(what: str, connection: http.client.HTTPConnection | None = None) -> Generator[None]:
    try:
        yield
    except BaseException as error:
        if connection is not None:
            connection.close()
        if not isinstance(error, http.client.HTTPException | OSError):
            raise
        if isinstance(error, TimeoutError):
            raise TimedOut(f"{what}: no answer in time") from error
        if isinstance(error, http.client.HTTPException) and not isinstance(
            error, http.client.IncompleteRead | http.client.RemoteDisconnected
        ):
            raise ProtocolError(f"{what}: {error!r}") from error
        raise ConnectionLost(f"{what}: {error}") from error
