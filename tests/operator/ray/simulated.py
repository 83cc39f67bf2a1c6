"""Heads that answer as Ray's dashboard and Serve's proxy do, in any time and any number."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import orjson

from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.net.server import Server, listen
from rayward.operator.ray.errors import Unreachable
from rayward.operator.ray.reach import Answer, Ask, Place, ServicePort
from tests.operator.ray import rendering
from tests.operator.ray.application import Application
from tests.operator.ray.behaviour import TIMINGS, Behaviour, Timings
from tests.operator.ray.jobs import Script, SimulatedJobs
from tests.operator.ray.refusals import refusal

DASHBOARD = 8265
_APPLICATIONS = "/api/serve/applications/"
_OPEN = frozenset({"/api/gcs_healthz"})
_EMPTY = {"controller_info": {}, "proxies": {}, "applications": {}, "target_capacity": None}

Headers = Mapping[str, str]


class Reply(msgspec.Struct, frozen=True):
    """An answer, and how long it takes."""

    status: int
    body: bytes = b""
    seconds: float = 0.0


class SimulatedHead:
    """One head.

    ``behaviours`` says what import paths lead to; others lead to one that greets. ``down`` heads do not answer.
    ``instance`` is the name that Ray was told of its pod (RAY_CLOUD_INSTANCE_ID).
    """

    ray_version = "2.60.0"

    def __init__(
        self,
        now: Callable[[], float],
        *,
        name: str = "head",
        instance: str = "",
        token: str = "",
        behaviours: Mapping[str, Behaviour] | None = None,
        cpus: float = 4.0,
        timings: Timings = TIMINGS,
    ) -> None:
        self.name = name
        self.instance = instance
        self.token = token
        self.behaviours = dict(behaviours or {})
        self.scripts: dict[str, Script] = {}
        """What entrypoints do; others succeed after a second."""
        self.all_submitted: list[str] = []
        """The id of every job that any of its sessions took."""
        self.down = False
        self.puts: list[bytes] = []
        """Every configuration that was accepted."""
        self._now = now
        self._cpus = cpus
        self._timings = timings
        self._starts = 0
        self.restart()

    def restart(self) -> None:
        """Begin a new session without memory, as a head without an outside store does."""
        self._starts += 1
        self.session = f"session_{self.name}_{self._starts}"
        self.jobs = SimulatedJobs(self._now, self.scripts, self.all_submitted)
        self._apps: dict[str, Application] = {}
        self._serving_since: float | None = None
        self._port = 8000
        self._capacity: float | None = None
        self._round_at = self._now()

    def answer(self, method: str, target: str, headers: Headers, body: bytes | None) -> Reply:
        """What the dashboard answers. Header names are in lower case."""
        self._advance()
        path, _, query = target.partition("?")
        if self.token and path not in _OPEN:
            shown = headers.get("authorization") or headers.get("x-ray-authorization")
            if not shown:
                return Reply(401, b"Unauthorized: Missing authentication token")
            if shown != f"Bearer {self.token}":
                return Reply(403, b"Forbidden: Invalid authentication token")
        if path == _APPLICATIONS:
            return self._applications(method, query, body)
        if (found := self.jobs.answer(method, path, query, body)) is not None:
            return Reply(*found, self._timings.get)
        return self._plain(method, path)

    def visit(self, path: str) -> Reply | None:
        """What Serve's proxy answers; None if nobody does."""
        self._advance()
        if self._serving_since is None or self.down:
            return None
        if path == "/-/healthz":
            return Reply(200, b"success")
        routes = {app.prefix: app for app in self._apps.values() if app.routed}
        if path == "/-/routes":
            return Reply(200, orjson.dumps({route: app.name for route, app in routes.items() if route}))
        found = routes.get(path)
        if found is None:
            text = f"Path '{path}' not found. Ping http://.../-/routes for available routes."
            return Reply(404, text.encode())
        for deployment in found.live.values():
            if deployment.status == "DEPLOY_FAILED":
                which = f"Deployment(name='{deployment.name}', app='{found.name}')"
                return Reply(503, f"{which} is unavailable because it failed to deploy.".encode())
        words = [word for deployment in found.live.values() for word in deployment.words()]
        return Reply(200, words[0].encode()) if words else None

    def _plain(self, method: str, path: str) -> Reply:
        if method != "GET":
            return Reply(405, b"405: Method Not Allowed")
        if path == "/api/version":
            version = {"version": "4", "ray_version": self.ray_version, "ray_commit": "simulated"}
            return Reply(200, orjson.dumps({**version, "session_name": self.session}), self._timings.get)
        if path == "/api/gcs_healthz":
            return Reply(200, b"success")
        if path == "/api/v0/nodes":
            return Reply(200, orjson.dumps(self._nodes()), self._timings.get)
        return Reply(404, b"404: Not Found")

    def _nodes(self) -> dict[str, Any]:
        node = {
            "node_id": rendering.hex_id("node"),
            "node_ip": rendering.NODE_IP,
            "is_head_node": True,
            "state": "ALIVE",
            "state_message": None,
            "node_name": rendering.NODE_IP,
            "resources_total": {"CPU": self._cpus},
            "labels": {"ray.io/node-id": rendering.hex_id("node")},
        }
        found = {
            "total": 1,
            "num_after_truncation": 1,
            "num_filtered": 1,
            "result": [node],
            "partial_failure_warning": "",
            "warnings": None,
        }
        return {"result": True, "msg": "", "data": {"result": found}}

    def _applications(self, method: str, query: str, body: bytes | None) -> Reply:
        if method == "PUT":
            return self._put(body or b"")
        if method == "DELETE":
            self._apps, self._serving_since = {}, None
            return Reply(200, seconds=self._timings.shutdown)
        kind = query.removeprefix("api_type=")
        if kind not in ("", "declarative", "imperative"):
            text = f"Invalid 'api_type' value: '{kind}'. Must be one of: imperative, declarative"
            return Reply(400, text.encode())
        if self._serving_since is None:
            return Reply(200, orjson.dumps(_EMPTY), self._timings.get)
        proxy = "STARTING" if self._now() < self._serving_since + self._timings.tick else "HEALTHY"
        return Reply(
            200,
            orjson.dumps(rendering.serve(self._apps, self._port, proxy, self._capacity, self.instance)),
            self._timings.get,
        )

    def _put(self, body: bytes) -> Reply:
        refused = refusal(body)
        if refused is not None:
            return Reply(*refused)
        config = orjson.loads(body)
        seconds = self._timings.put
        now = self._now()
        if self._serving_since is None:
            # Serve starts before it takes the configuration, and only then listens to the options.
            seconds = self._timings.serve_start
            now += seconds
            self._serving_since = self._round_at = now
            self._port = config.get("http_options", {}).get("port", 8000)
        self._capacity = config.get("target_capacity")
        for entry in config["applications"]:
            app = self._apps.setdefault(entry["name"], Application(entry["name"], self._cpus, self._timings))
            app.apply(entry, self.behaviours.get(entry["import_path"], Behaviour()), now)
        named = {entry["name"] for entry in config["applications"]}
        for app in self._apps.values():
            if app.name not in named:
                app.delete(now)
        self.puts.append(body)
        return Reply(200, seconds=seconds)

    def _advance(self) -> None:
        now = self._now()
        while self._round_at + self._timings.tick <= now:
            if not any(app.moving for app in self._apps.values()):
                self._round_at = now
                return
            self._round_at += self._timings.tick
            for app in list(self._apps.values()):
                app.round(self._round_at)
                if app.gone:
                    del self._apps[app.name]


class SimulatedReach:
    """A way to simulated heads, by the name of their service or pod; no socket is opened.

    The dashboard is behind ``dashboards``, its usual port at first; Serve's proxy is behind any other.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.dashboards = {DASHBOARD}
        self.heads: dict[str, SimulatedHead] = {}
        self.asked: list[tuple[str, str, str]] = []
        self._clock = clock

    def add(self, head: SimulatedHead) -> ServicePort:
        self.heads[head.name] = head
        return ServicePort("default", head.name, DASHBOARD, "dashboard")

    def find(self, place: Place) -> SimulatedHead | None:
        """Who is there."""
        return self.heads.get(place.name)

    async def ask(self, place: Place, ask: Ask) -> Answer:
        self.asked.append((place.name, ask.method, ask.path))
        head = self.find(place)
        if head is None or head.down:
            raise Unreachable(f"{place}: nobody listens")
        if place.port in self.dashboards:
            headers = {name.lower(): value for name, value in ask.headers}
            reply = head.answer(ask.method, ask.path, headers, ask.body)
        else:
            visited = head.visit(ask.path)
            if visited is None:
                raise Unreachable(f"{place}: nobody listens")
            reply = visited
        await self._clock.sleep(reply.seconds)
        if head.down:
            raise Unreachable(f"{place}: the connection was lost")
        return Answer(reply.status, reply.body)


def dashboard(find: Callable[[Any], SimulatedHead]) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """The dashboard of the head that ``find`` names for a connection, as an ASGI application."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        target = f"{scope['path']}?{query}" if query else scope["path"]
        reply = find(scope).answer(scope["method"], target, headers, body)
        await SYSTEM_CLOCK.sleep(reply.seconds)
        await send({"type": "http.response.start", "status": reply.status, "headers": []})
        await send({"type": "http.response.body", "body": reply.body})

    return application


@asynccontextmanager
async def listening(head: SimulatedHead, host: str = "127.0.0.1") -> AsyncGenerator[int]:
    """The dashboard of ``head`` on an address of this machine; the port is given."""

    application = dashboard(lambda _scope: head)
    listener = listen(host, 0)
    server = Server(application, listener)
    await server.start()
    try:
        yield listener.getsockname()[1]
    finally:
        await server.stop()
