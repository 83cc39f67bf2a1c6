"""The init of a pod: starts containers, keeps their logs, records their ends, and takes all with it at its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Never

from rayward.local.fdpass import channel
from rayward.local.fdpass.channel import Message
from rayward.local.node.sandbox import container, linux, process, run, stated
from rayward.local.node.sandbox.logfile import LogFile
from rayward.local.node.sandbox.loop import Loop
from rayward.local.node.sandbox.netlink import Netlink
from rayward.local.node.sandbox.run import Run

BRIDGE_ADDRESS: Final = "10.42.0.1"
PREFIX: Final = 16
_KILLED: Final = 137


def live(settings: dict[str, Any], host: socket.socket) -> Never:
    """Be the init of a pod; ``host`` says when the network is plugged in, and later who wants to talk."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Of its own, so that pods leave each other no keys. Users may have few keyrings: without one this is the sandbox
    # host's, which is as empty of the user's keys.
    with contextlib.suppress(OSError):
        linux.leave_keyring()
    channel.receive(host)
    try:
        _furnish(settings)
    except OSError as error:
        channel.send(host, {"error": f"{error.strerror or error} {error.filename or ''}".strip()})
        os._exit(1)
    channel.send(host, {"ready": True})
    _Init(settings, host).loop.run()
    raise AssertionError("the init of a pod ends by a signal")


def _furnish(settings: dict[str, Any]) -> None:
    linux.mount(None, "/", None, linux.PRIVATE | linux.RECURSIVE)
    linux.mount("proc", "/proc", "proc")
    for memory in settings["memory"]:
        size = f",size={memory['size']}" if memory.get("size") else ""
        linux.mount("tmpfs", memory["path"], "tmpfs", linux.NO_SUID | linux.NO_DEV, f"mode=1777{size}")
    socket.sethostname(settings["hostname"])
    if settings.get("address"):
        with Netlink() as network:
            network.switch_on("lo")
            network.add_address("eth0", settings["address"], PREFIX)
            network.switch_on("eth0")
            network.route_default(BRIDGE_ADDRESS)
        # As in a container of Kubernetes: any user may take a low port.
        with contextlib.suppress(OSError):
            Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")


@dataclass(frozen=True)
class _Command:
    """A command that runs in a container, for the client that asked; ``main`` leads its process group."""

    client: socket.socket
    number: int
    main: int


class _Init:
    def __init__(self, settings: dict[str, Any], host: socket.socket) -> None:
        self._shared_memory: str = settings["sharedMemory"]
        self._host = host
        self._clients: list[socket.socket] = []
        self._runs: dict[str, Run] = {}
        self._commands: dict[int, _Command] = {}
        self.loop = Loop(self._ended)
        self.loop.watch(host, self._introduce)
        self._answers = {
            "start": self._start,
            "signal": self._signal,
            "list": self._list,
            "socket": _socket,
            "enter": self._enter,
            "leave": self._leave,
            "attach": self._attach,
            "resize": self._resize,
            "shut": self._shut,
        }

    def _introduce(self) -> None:
        received = channel.receive(self._host)
        if received is None:
            os._exit(0)
        for descriptor in received[1]:
            client = socket.socket(fileno=descriptor)
            # Containers must not wait for a node that does not read: it is cut off and asks anew.
            client.setblocking(False)
            self._clients.append(client)
            self.loop.watch(client, lambda client=client: self._serve(client))

    def _drop(self, client: socket.socket) -> None:
        if client in self._clients:
            self._clients.remove(client)
            self.loop.forget(client)
            client.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            received = channel.receive(client)
        except BlockingIOError:
            return
        except OSError:
            received = None
        if received is None:
            self._drop(client)
            return
        message, descriptors = received
        try:
            answer, handed = self._answers[message["do"]](message, descriptors, client)
        except (OSError, ValueError, KeyError) as error:
            answer, handed = {"error": f"{type(error).__name__}: {error}"}, []
        for descriptor in descriptors:
            os.close(descriptor)
        self._tell(client, {**answer, "id": message.get("id")}, handed)
        for descriptor in handed:
            os.close(descriptor)

    def _tell(self, client: socket.socket, message: Message, descriptors: list[int] | None = None) -> None:
        try:
            channel.send(client, message, descriptors or ())
        except OSError:
            self._drop(client)

    def _broadcast(self, message: Message) -> None:
        for client in list(self._clients):
            self._tell(client, message)

    def _start(self, message: Message, _: list[int], __: socket.socket) -> tuple[Message, list[int]]:
        path = Path(message["spec"])
        spec: dict[str, Any] = json.loads(path.read_bytes())
        name, attempt = spec["name"], spec["attempt"]
        before = self._runs.get(name)
        if before is not None and (before.code is None or before.attempt >= attempt):
            # Asked again by a node that did not hear the first answer.
            return {"already": before.attempt}, []
        os.makedirs(spec["root"], exist_ok=True)  # noqa: PTH103
        log = LogFile(Path(spec["log"]), spec["logSize"], spec["logFiles"])
        ours, theirs = channel.pair()
        stdin = os.pipe() if spec.get("stdin") else (os.open("/dev/null", os.O_RDONLY), None)
        out, err = os.pipe(), os.pipe()
        started = self._runs[name] = Run(name, attempt, spec, log, ours, stdin=stdin[1])
        started.kills_before = run.kills_for_memory(spec.get("kills", ""))
        if spec.get("stated"):
            stated.write(Path(spec["stated"]["folder"]), spec["stated"]["files"])
            self.loop.tick(stated.PERIOD, self._measure)
        container.begin(spec, self._shared_memory, (stdin[0], out[1], err[1]), theirs)
        for descriptor in (stdin[0], out[1], err[1]):
            os.close(descriptor)
        theirs.close()
        for descriptor, stream in ((out[0], "stdout"), (err[0], "stderr")):
            self._follow(started, descriptor, stream)
        self.loop.watch(ours, lambda: self._reported(started))
        return {}, []

    def _measure(self) -> None:
        measured = [owner for owner in self._runs.values() if owner.code is None and owner.spec.get("stated")]
        if not measured:
            self.loop.rest()
            return
        shared = stated.shared_memory(self._shared_memory)
        for owner in measured:
            if owner.init:
                stated.update(Path(owner.spec["stated"]["folder"]), stated.private_memory(owner.init), shared)

    def _follow(self, owner: Run, descriptor: int, stream: str) -> None:
        owner.streams[descriptor] = stream
        os.set_blocking(descriptor, False)
        self.loop.watch(descriptor, lambda: self._flow(owner, descriptor))

    def _flow(self, owner: Run, descriptor: int, *, last: bool = False) -> None:
        data = run.read(descriptor)
        if data:
            owner.take(owner.streams[descriptor], data)
            return
        if data is None and not last:
            return
        self.loop.forget(descriptor)
        del owner.streams[descriptor]
        if descriptor != owner.terminal:
            os.close(descriptor)

    def _reported(self, owner: Run) -> None:
        try:
            received = channel.receive(owner.report)
        except OSError:
            received = None
        if received is None:
            self.loop.forget(owner.report)
            if not owner.init:
                self._finish(owner, process.NOT_STARTED)
            return
        message, descriptors = received
        if "init" in message:
            owner.init = message["init"]
        elif "failed" in message:
            owner.failed = message["failed"]
        elif "started" in message:
            owner.note_start()
            for descriptor in descriptors:
                owner.terminal = descriptor
                self._follow(owner, descriptor, "stdout")
            self._broadcast({"event": "started", "name": owner.name, "attempt": owner.attempt, "at": owner.started})

    def _ended(self, child: int, status: int) -> None:
        command = self._commands.pop(child, None)
        if command is not None:
            left = {"event": "left", "id": command.number, "code": process.read_code(status)}
            if command.client in self._clients:
                self._tell(command.client, left)
            return
        for owner in self._runs.values():
            # The report of the init's id may still lie in the channel.
            while owner.code is None and not owner.init and owner.report.fileno() >= 0:
                self._reported(owner)
            if owner.init == child and owner.code is None:
                self._finish(owner, process.read_code(status))

    def _finish(self, owner: Run, code: int) -> None:
        for descriptor in list(owner.streams):
            # All writers are dead, or not of this container: what is in the pipes is all that counts.
            while descriptor in owner.streams:
                self._flow(owner, descriptor, last=True)
        with contextlib.suppress(KeyError, ValueError):
            self._drain_report(owner)
            self.loop.forget(owner.report)
        owner.code = code
        end: Message = {"name": owner.name, "attempt": owner.attempt, "code": code, "at": time.time()}
        end["started"] = owner.started
        if owner.failed:
            end["failed"] = owner.failed
        elif code == _KILLED and run.kills_for_memory(owner.spec.get("kills", "")) > owner.kills_before:
            end["reason"] = "OOMKilled"
        owner.note_end(json.dumps(end).encode())
        owner.close()
        self._broadcast({"event": "ended", **end})

    def _drain_report(self, owner: Run) -> None:
        owner.report.setblocking(False)
        while True:
            try:
                received = channel.receive(owner.report)
            except OSError:
                return
            if received is None:
                return
            message, descriptors = received
            owner.failed = message.get("failed", owner.failed)
            if "started" in message:
                owner.note_start()
            for descriptor in descriptors:
                os.close(descriptor)

    def _signal(self, message: Message, _: list[int], __: socket.socket) -> tuple[Message, list[int]]:
        owner = self._runs.get(message["name"])
        if owner is None or owner.code is not None or not owner.init:
            return {"running": False}, []
        os.kill(owner.init, message["number"])
        return {"running": True}, []

    def _list(self, _: Message, __: list[int], ___: socket.socket) -> tuple[Message, list[int]]:
        found = [
            {"name": owner.name, "attempt": owner.attempt, "started": owner.started, "running": owner.code is None}
            for owner in self._runs.values()
        ]
        return {"containers": found}, []

    def _enter(self, message: Message, descriptors: list[int], client: socket.socket) -> tuple[Message, list[int]]:
        owner = self._runs.get(message["name"])
        if owner is None or owner.code is not None or not owner.init:
            raise ValueError(f"container {message['name']} does not run")
        spec = {**owner.spec, "command": message["command"], "tty": message.get("tty", False)}
        ours, theirs = channel.pair()
        with ours, theirs:
            streams = (descriptors[0], descriptors[1], descriptors[2])
            child = container.enter(spec, owner.init, streams, theirs)
            theirs.close()
            received = channel.receive(ours)
        if received is None or "failed" in received[0]:
            return {"failed": received[0]["failed"] if received else "the container ended"}, []
        self._commands[child] = _Command(client, message["id"], received[0]["main"])
        return {"started": True}, received[1]

    def _leave(self, message: Message, _: list[int], client: socket.socket) -> tuple[Message, list[int]]:
        for command in self._commands.values():
            if command.client is client and command.number == message["command"]:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(command.main, signal.SIGKILL)
        return {}, []

    def _attach(self, message: Message, descriptors: list[int], _: socket.socket) -> tuple[Message, list[int]]:
        owner = self._runs.get(message["name"])
        if owner is None or owner.code is not None:
            raise ValueError(f"container {message['name']} does not run")
        owner.listeners.append(run.Listener(os.dup(descriptors[0]), os.dup(descriptors[1])))
        writer = owner.terminal if owner.terminal is not None else owner.stdin
        return {}, [] if writer is None else [os.dup(writer)]

    def _shut(self, message: Message, _: list[int], __: socket.socket) -> tuple[Message, list[int]]:
        owner = self._runs.get(message["name"])
        if owner is not None and owner.stdin is not None:
            os.close(owner.stdin)
            owner.stdin = None
        return {}, []

    def _resize(self, message: Message, descriptors: list[int], _: socket.socket) -> tuple[Message, list[int]]:
        run.resize(descriptors[0], message["rows"], message["columns"])
        return {}, []


def _socket(message: Message, _: list[int], __: socket.socket) -> tuple[Message, list[int]]:
    return {}, [channel.new_socket(message.get("kind", "tcp")).detach()]
