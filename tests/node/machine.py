"""A whole machine for tests: API server, controllers and node as processes, and what users see of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import orjson
import yaml
from websockets.asyncio.client import connect

from rayward.kube.client.config import find_access
from rayward.kube.client.errors import NotFound
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CONFIG_MAPS, EVENTS, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from rayward.local.fdpass import channel
from tests.identity import own_kubeconfig
from tests.waiting import eventually

Object = dict[str, Any]


def sh(script: str, **more: Any) -> Object:
    """A container that runs a shell script."""
    return {"name": "c", "image": "busybox", "command": ["sh", "-c", script], **more}


class RefusedError(Exception):
    """The endpoint said no."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class Machine:
    """Everything that runs pods on this machine, in a temporary folder."""

    def __init__(
        self,
        *node_options: str,
        python: str = sys.executable,
        user: int | None = None,
        packages: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        place: Path | None = None,
    ) -> None:
        self._node_options = node_options
        self.python = python
        self._user = user
        self._packages = packages
        self._wrapper = wrapper
        # Not pytest's own: what is under it must be short enough to read in messages, and gone at once.
        self.folder = Path(tempfile.mkdtemp(prefix="rayward-node-", dir=place))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.kubeconfig = self.start_control_plane()
        self.client = SyncClient.connect(find_access(self.kubeconfig))
        self.start_node()
        eventually(lambda: bool(self.client.get(SERVICE_ACCOUNTS, "default", "default")))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        for name in ("node", "controllers", "api"):
            process = self._processes.pop(name, None)
            if process is not None:
                process.terminate()
                process.wait(30)
        if kind is None:
            self._check_rights()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_rights(self) -> None:
        """The parts asked for nothing that they have no right to: most of them would only log it and try again."""
        log = self.folder / "api.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        assert not [line for line in lines if "a part of the stack was refused" in line]

    def start_control_plane(self) -> Path:
        """Start an API server and its controllers; returns the kubeconfig."""
        self._start("api", "rayward.local.apiserver", "--data-dir", str(self.folder / "api"))
        kubeconfig = self.folder / "api" / "kubeconfig"
        self._wait("api", kubeconfig.exists)
        claims = self.folder / "claims"
        claims.mkdir(exist_ok=True)
        if self._user is not None:
            os.chown(claims, self._user, self._user)
        options = ("--kubeconfig", str(own_kubeconfig(kubeconfig, "controllers")), "--claims-folder", str(claims))
        self._start("controllers", "rayward.local.controllers", *options)
        return kubeconfig

    def restart_server(self) -> None:
        """End the API server and start it again, on the same port."""
        process = self._processes.pop("api")
        process.terminate()
        process.wait(30)
        port = (self.folder / "api" / "port").read_text().strip()
        kubeconfig = self.folder / "api" / "kubeconfig"
        kubeconfig.unlink()
        self._start("api", "rayward.local.apiserver", "--data-dir", str(self.folder / "api"), "--port", port)
        self._wait("api", kubeconfig.exists)

    def start_node(self, *node_options: str) -> None:
        """Start the node, with the same options as before or with others, and wait until it serves."""
        self.begin_node(*node_options)
        self._wait("node", (self.folder / "node" / "ready").exists)
        # Once, and here: the client is not made for many threads.
        self._endpoint = self._find_endpoint()

    def begin_node(self, *node_options: str) -> None:
        """Start the node, and wait for nothing."""
        self._node_options = node_options or self._node_options
        (self.folder / "node" / "ready").unlink(missing_ok=True)
        config, data = self.folder / "kubeconfig", self.folder / "node"
        shutil.copy(own_kubeconfig(self.kubeconfig, "node"), config)
        data.mkdir(exist_ok=True)
        if self._user is not None:
            for path in (self.folder, config, data):
                os.chown(path, self._user, self._user)
        options = ("--kubeconfig", str(config), "--data-dir", str(data), *self._node_options)
        self._start("node", "rayward.local.node", *options, user=self._user)

    def kill_node(self) -> None:
        """SIGKILL the node, and only it."""
        process = self._processes.pop("node")
        process.kill()
        process.wait()

    def stop_node(self, number: int = signal.SIGTERM) -> None:
        """Ask the node to end, and wait for it."""
        process = self._processes.pop("node")
        process.send_signal(number)
        assert process.wait(30) == 0

    def end_sandbox_host(self) -> None:
        """End every pod at once, as the end of the machine would."""
        with channel.connect(str(self.folder / "node"), "ground.sock") as line:
            channel.send(line, {"do": "end"})
            channel.receive(line)

    def pid_of(self, part: str) -> int:
        """The process of ``api``, ``controllers`` or ``node``."""
        return self._processes[part].pid

    def log_of(self, part: str) -> str:
        """What a process said."""
        return (self.folder / f"{part}.log").read_text()

    def _start(self, name: str, module: str, *options: str, user: int | None = None) -> None:
        python = sys.executable if user is None else self.python
        environment = dict(os.environ)
        if user is not None:
            environment |= {"PYTHONPATH": os.pathsep.join(self._packages), "HOME": str(self.folder)}
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [*self._wrapper] if name == "node" and self._wrapper else [python]
            self._processes[name] = subprocess.Popen(
                [*command, "-m", module, *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                env=environment,
                cwd="/",
            )

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        def started() -> bool:
            if self._processes[name].poll() is not None:
                raise SystemExit(f"{name} ended: {self.log_of(name)[-3000:]}")
            return ready()

        eventually(started)

    def make(self, resource: Resource, body: Object) -> Object:
        """Create any object in the namespace default."""
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return self.client.create(resource, whole, "default" if resource.namespaced else None)

    def config_map(self, **data: str) -> str:
        """A ConfigMap; returns its name."""
        name = f"map-{uuid4().hex[:8]}"
        self.make(CONFIG_MAPS, {"metadata": {"name": name}, "data": data})
        return name

    def secret(self, **data: str) -> str:
        """A Secret; returns its name."""
        name = f"secret-{uuid4().hex[:8]}"
        self.make(SECRETS, {"metadata": {"name": name}, "stringData": data})
        return name

    def run(self, *containers: Object, name: str = "", metadata: Object | None = None, **spec: Any) -> str:
        """Create a pod; it restarts nothing and has little time to end, unless it says otherwise. Returns its name."""
        name = name or f"pod-{uuid4().hex[:8]}"
        named = [
            {**one, "name": one["name"] if number == 0 else f"{one['name']}{number}"}
            for number, one in enumerate(containers)
        ]
        body = {
            "metadata": {"name": name, **(metadata or {})},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": named, **spec},
        }
        self.make(PODS, body)
        return name

    def pod(self, name: str) -> Object:
        """A pod's object."""
        return self.client.get(PODS, name, "default")

    def status(self, name: str) -> Object:
        """A pod's status."""
        return self.pod(name).get("status") or {}

    def container(self, name: str, container: str = "c") -> Object:
        """The status of one container."""
        status = self.status(name)
        told = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
        return next(found for found in told if found["name"] == container)

    def state(self, name: str, container: str = "c") -> Object:
        """The state of one container."""
        return self.container(name, container)["state"]

    def condition(self, name: str, kind: str) -> Object:
        """A condition of a pod."""
        return next(found for found in self.status(name).get("conditions") or () if found["type"] == kind)

    def until_phase(self, name: str, *phases: str) -> Object:
        """Wait for a phase; returns the status."""
        eventually(lambda: self.status(name).get("phase") in phases)
        return self.status(name)

    def until_ready(self, name: str) -> Object:
        """Wait until a pod is ready; returns the status."""
        eventually(lambda: self.condition(name, "Ready")["status"] == "True")
        return self.status(name)

    def until_waiting(self, name: str, reason: str, container: str = "c") -> str:
        """Wait until a container waits for a reason; returns the message."""
        eventually(lambda: self.state(name, container)["waiting"]["reason"] == reason)
        return self.state(name, container)["waiting"].get("message", "")

    def output(self, *containers: Object, **spec: Any) -> str:
        """Run a pod to its good end; returns what its first container said."""
        name = self.run(*containers, **spec)
        status = self.until_phase(name, "Succeeded", "Failed")
        said = self.log(name)
        assert status["phase"] == "Succeeded", (status, said)
        return said

    def delete(self, name: str, **options: Any) -> None:
        """Ask for the end of a pod."""
        self.client.delete(PODS, name, "default", **options)

    def until_gone(self, name: str) -> None:
        """Wait until a pod is gone."""

        def gone() -> bool:
            try:
                self.pod(name)
            except NotFound:
                return True
            return False

        eventually(gone)

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reasons and messages of the events about a pod."""
        listed = self.client.list(EVENTS, "default", field_selector=f"involvedObject.name={name}").items
        return [(event["reason"], event["message"]) for event in listed]

    def until_event(self, name: str, reason: str, text: str = "") -> str:
        """Wait for an event; returns its message."""
        found: list[str] = []

        def told() -> bool:
            found[:] = [message for kind, message in self.events(name) if kind == reason and text in message]
            return bool(found)

        eventually(told)
        return found[0]

    @property
    def node(self) -> str:
        """The name of the first node."""
        return self.client.list(NODES).items[0]["metadata"]["name"]

    def _find_endpoint(self) -> str:
        node = self.client.list(NODES).items[0]
        return f"127.0.0.1:{node['status']['daemonEndpoints']['kubeletEndpoint']['Port']}"

    @property
    def _token(self) -> str:
        return yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]["token"]

    def ask(self, path: str, *, token: str | None = None) -> bytes:
        """GET from the node's own endpoint."""
        request = urllib.request.Request(f"https://{self._endpoint}{path}")
        request.add_header("Authorization", f"Bearer {self._token if token is None else token}")
        try:
            with urllib.request.urlopen(request, context=_trusting(), timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            with error:
                raise RefusedError(error.code, error.read().decode()) from None

    def log(self, name: str, container: str = "c", **query: Any) -> str:
        """A container's log."""
        asked = urllib.parse.urlencode(query)
        return self.ask(f"/containerLogs/default/{name}/{container}?{asked}").decode()

    def stream(
        self, path: str, sent: Sequence[bytes] = (), until: Callable[[dict[int, bytes]], bool] | None = None
    ) -> dict[int, bytes]:
        """Open a WebSocket of the endpoint, send, and gather what comes per channel."""
        return asyncio.run(self._stream(path, sent, until))

    async def _stream(
        self, path: str, sent: Sequence[bytes], until: Callable[[dict[int, bytes]], bool] | None
    ) -> dict[int, bytes]:
        # In one thread: a client that reads and writes TLS in two loses its request now and then.
        gathered: dict[int, bytes] = {}
        async with connect(
            f"wss://{self._endpoint}{path}",
            ssl=_trusting(),
            subprotocols=["v5.channel.k8s.io"],  # pyright: ignore[reportArgumentType]
            additional_headers={"Authorization": f"Bearer {self._token}"},
            proxy=None,
        ) as socket:
            for message in sent:
                await socket.send(message)
            async for message in socket:
                assert isinstance(message, bytes)
                gathered[message[0]] = gathered.get(message[0], b"") + message[1:]
                if until is not None and until(gathered):
                    break
        return gathered

    def execute(
        self, name: str, *command: str, container: str = "c", sent: Sequence[bytes] = (), **flags: int
    ) -> tuple[int, dict[int, bytes]]:
        """Run a command in a container: its exit code and its streams."""
        query = urllib.parse.urlencode(
            [("command", part) for part in command] + [("output", 1), ("error", 1), *flags.items()]
        )
        streams = self.stream(f"/exec/default/{name}/{container}?{query}", sent)
        outcome = orjson.loads(streams[3])
        if outcome["status"] == "Success":
            return 0, streams
        causes = (outcome.get("details") or {}).get("causes") or [{"message": "-1"}]
        return int(causes[0]["message"]), streams

    def processes(self) -> list[int]:
        """Every process of the pods of this machine: what runs below the sandbox host, and the sandbox host."""
        return sandbox_processes(self.folder)


def sandbox_processes(folder: Path) -> list[int]:
    """The processes whose log is the sandbox host's: it and all inits of pods and containers."""
    log = str(folder / "node" / "ground.log")
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "fd" / "2").readlink()) == log:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
