"""The server as a process: everything put together, from an empty folder to an answering port."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from rayward.local.apiserver import bootstrap, builtin, credentials, reviews, subresources, wiring
from rayward.local.apiserver.app import App, answers_plainly
from rayward.local.apiserver.authentication import Authenticator
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.crd.conversion import Conversions
from rayward.local.apiserver.crd.lifecycle import Lifecycle
from rayward.local.apiserver.discovery import Discovery
from rayward.local.apiserver.hub import BOOKMARK_SECONDS, Hub
from rayward.local.apiserver.kubelet import Kubelets
from rayward.local.apiserver.objects import Objects
from rayward.local.apiserver.openapi import OpenApi
from rayward.local.apiserver.pages import Pages
from rayward.local.apiserver.proxy import Proxies
from rayward.local.apiserver.quota import Quotas
from rayward.local.apiserver.quotastatus import QuotaStatus
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.tokens import Tokens
from rayward.local.apiserver.tunnel import Tunnels
from rayward.local.apiserver.webhooks.dispatch import HttpWebhooks
from rayward.local.store import Store
from rayward.net.server import Server, ServerTls, listen
from rayward.net.signing import SigningKey
from rayward.net.websocket import WebSocket

_log = logging.getLogger(__name__)


class ApiServer:
    """An embedded API server in a data folder."""

    def __init__(self, data: Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._data = data
        self._host = host
        self._port = port
        self._stopped = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> str:
        """Open the store, listen, and write the kubeconfig; returns the URL."""
        self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
        hub = Hub()
        self._store = await Store.open(self._data / "store.db", on_commit=hub.on_commit)
        secrets = credentials.ensure(self._data)
        authorizer = wiring.authorizer_of(self._store, hub)
        self._caller = wiring.caller_of(self._store)
        conversions = Conversions(self._caller)
        webhooks = HttpWebhooks(self._store, self._caller, conversions, authorizer)
        listener = self._listen()
        address = f"{self._host}:{listener.getsockname()[1]}"
        registry = Registry(builtin.resources())
        quotas = Quotas(self._store)
        objects = Objects(self._store, conversions)
        core = Core(
            objects, registry, hub, wiring.admission(self._store, hub, webhooks, quotas, authorizer), authorizer
        )
        wiring.complete_kinds(registry)
        wiring.share_events(registry)
        definitions = wiring.serve_definitions(registry)
        lifecycle = Lifecycle(core, definitions)
        hub.listen(lifecycle.on_commit)
        lifecycle.load()
        quota_status = QuotaStatus(core, quotas)
        hub.listen(quota_status.on_commit)
        quota_status.load()
        await bootstrap.ensure(core, credentials.SERVICE_ADDRESS, listener.getsockname()[1], secrets.authority.decode())
        self._kubelets = Kubelets(secrets.client, wiring.http_client)
        tokens = Tokens(SigningKey(secrets.signing_key), self._store, core.clock)
        metrics = _Metrics(self._store, hub)
        authenticator = Authenticator(secrets.token, secrets.parts, tokens.user)
        app = App(
            core,
            authenticator,
            (Discovery(address), OpenApi(wiring.schema_of), Pages(metrics.text)),
            subresources.handlers(tokens, self._kubelets),
            reviews.handlers(tokens, authenticator),
            Tunnels(self._kubelets),
            Proxies(self._kubelets),
            metrics.observe,
        )
        tls = ServerTls(secrets.certificate, secrets.key, secrets.authority_file)
        self._server = Server(app, listener, tls, answers_plainly, WebSocket)
        await self._server.start()
        self._core = core
        url = f"https://{address}"
        credentials.write_kubeconfigs(secrets, url, self._data / "kubeconfig")
        credentials.write_private(self._data / "port", str(listener.getsockname()[1]).encode())
        self._tasks.append(asyncio.create_task(self._bookmarks()))
        self._tasks.append(asyncio.create_task(self._watch_store()))
        # what lives now lives as long as the process: the collector need not look at it again
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        return url

    def _listen(self) -> socket.socket:
        wanted = self._port
        if not wanted:
            with contextlib.suppress(OSError, ValueError):
                # the port of the last start, so that kubeconfigs in open shells stay true
                return listen(self._host, int((self._data / "port").read_text()))
        return listen(self._host, wanted)

    async def _bookmarks(self) -> None:
        while True:
            await asyncio.sleep(BOOKMARK_SECONDS)
            self._core.hub.send_bookmarks(self._store.revision)

    async def _watch_store(self) -> None:
        failure = await self._store.failure()
        _log.critical("the store failed, nothing more can be acknowledged: %s", failure)
        self._stopped.set()

    def request_stop(self) -> None:
        """Ask the server to end."""
        self._stopped.set()

    async def run(self) -> None:
        """Serve until asked to stop."""
        await self._stopped.wait()
        await self.stop()

    async def stop(self) -> None:
        """End watches, stop listening, close the store."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._core.hub.close()
        await self._server.stop()
        await self._caller.close()
        await self._kubelets.close()
        await self._store.close()


class _Metrics:
    """Request counts under kube-apiserver's names."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request",
            "Requests by verb, resource and HTTP code.",
            ["verb", "resource", "code"],
            registry=self._registry,
        )
        watchers = Gauge("apiserver_longrunning_requests", "Open watches.", registry=self._registry)
        watchers.set_function(lambda: hub.count)
        revision = Gauge("apiserver_storage_revision", "Last committed revision.", registry=self._registry)
        revision.set_function(lambda: store.revision)
        self._children: dict[tuple[str, str, int], Counter] = {}

    def observe(self, verb: str, resource: str, code: int) -> None:
        key = (verb, resource, code)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._requests.labels(verb.upper(), resource, str(code))
        child.inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)


async def serve(data: Path, host: str, port: int) -> None:
    """Run a server until SIGTERM or SIGINT."""
    server = ApiServer(data, host=host, port=port)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.request_stop)
    url = await server.start()
    _log.info("serving on %s", url)
    await server.run()
