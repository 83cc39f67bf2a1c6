"""The sandbox host itself: the first process of the namespaces in which all pods live."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Never

from rayward.local.fdpass import channel
from rayward.local.fdpass.channel import Message
from rayward.local.node.sandbox import linux, pod, process
from rayward.local.node.sandbox.loop import Loop
from rayward.local.node.sandbox.netlink import Netlink

BRIDGE: Final = "rw0"
SERVICES: Final = ("10.43.0.0", 16)
_ALL: Final = linux.NEW_MOUNTS | linux.NEW_NETWORK | linux.NEW_PIDS | linux.NEW_IPC | linux.NEW_NAMES
_EVERYBODY: Final = 4294967295

Answer = tuple[Message, list[int]]


@dataclass
class _Pod:
    name: str
    init: int
    control: socket.socket
    link: str


def main() -> None:
    """``listener ready``: descriptors of the listening socket and of a pipe that is told ``ready`` or the trouble."""
    listener, ready = int(sys.argv[1]), int(sys.argv[2])
    os.setsid()
    # One descriptor or more for every stream of every container, and containers expect as many as they may have.
    process.raise_open_files()
    asked_in, asked_out = os.pipe()
    mapped_in, mapped_out = os.pipe()

    def first() -> int:
        os.close(asked_in)
        os.close(mapped_out)
        try:
            linux.unshare(linux.NEW_USER)
            os.write(asked_out, b".")
            os.read(mapped_in, 1)
            linux.unshare(_ALL)
        except OSError as error:
            os.write(ready, f"{error.strerror}".encode())
            return 1
        process.keep_only([listener, ready])
        process.fork(lambda: _live(listener, ready))
        return 0

    child = process.fork(first)
    os.close(asked_out)
    if os.read(asked_in, 1):
        _map_users(child)
    os.close(mapped_out)
    os.waitpid(child, 0)


def _map_users(child: int) -> None:
    # From outside, because only the creator may map more than its own user, and only root has more.
    uid, gid = os.geteuid(), os.getegid()
    count = _EVERYBODY if uid == 0 else 1
    if uid != 0:
        Path(f"/proc/{child}/setgroups").write_text("deny")
    for kind, own in (("uid", uid), ("gid", gid)):
        try:
            Path(f"/proc/{child}/{kind}_map").write_text(f"0 {own} {count}")
        except OSError:
            # Root of a container that has not all users itself.
            Path(f"/proc/{child}/{kind}_map").write_text(f"0 {own} 1")


def _live(listener: int, ready: int) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        # Before anything is forked: whatever fails later, no pod has the keys of the session that started us.
        linux.leave_keyring()
    except OSError as error:
        os.write(2, f"pods see the keys of this session, if there are any: {error.strerror}\n".encode())
    try:
        linux.mount(None, "/", None, linux.SLAVE | linux.RECURSIVE)
        linux.mount("proc", "/proc", "proc")
        with Netlink() as network:
            network.switch_on("lo")
            network.make_bridge(BRIDGE, pod.BRIDGE_ADDRESS)
            network.add_address(BRIDGE, pod.BRIDGE_ADDRESS, pod.PREFIX)
            network.switch_on(BRIDGE)
            network.own_range(*SERVICES)
        host = _SandboxHost(socket.socket(fileno=listener))
    except OSError as error:
        os.write(ready, f"{error.strerror} {error.filename or ''}".strip().encode())
        return 1
    os.write(ready, b"ready")
    os.close(ready)
    host.loop.run()
    return 0


class _SandboxHost:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._pods: dict[str, _Pod] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._links = 0
        self.loop = Loop(self._ended)
        self.loop.watch(listener, self._accept)
        self._answers: dict[str, Callable[[Message], Answer]] = {
            "hello": self._hello,
            "pod": self._pod,
            "connect": self._connect,
            "socket": _socket,
            "end": _end,
        }

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        self.loop.watch(client, lambda: self._serve(client))

    def _serve(self, client: socket.socket) -> None:
        try:
            received = channel.receive(client)
        except OSError:
            received = None
        if received is None:
            self.loop.forget(client)
            client.close()
            return
        message, descriptors = received
        for descriptor in descriptors:
            os.close(descriptor)

        def answer(content: Message, handed: list[int]) -> None:
            with contextlib.suppress(OSError):
                channel.send(client, {**content, "id": message.get("id")}, handed)

        if message.get("do") == "kill":
            self._kill(message["pod"], lambda: answer({}, []))
            return
        try:
            content, handed = self._answers[message["do"]](message)
        except (OSError, ValueError, KeyError) as error:
            content, handed = {"error": f"{type(error).__name__}: {error}"}, []
        answer(content, handed)
        for descriptor in handed:
            os.close(descriptor)

    def _hello(self, _: Message) -> Answer:
        return {"pods": sorted(self._pods)}, []

    def _connect(self, message: Message) -> Answer:
        found = self._pods[message["pod"]]
        ours, theirs = channel.pair()
        with ours:
            channel.send(found.control, {}, [ours.fileno()])
        return {}, [theirs.detach()]

    def _pod(self, message: Message) -> Answer:
        name: str = message["pod"]
        if name in self._pods:
            return {"already": True}, []
        settings: dict[str, Any] = json.loads(Path(message["settings"]).read_bytes())
        ours, theirs = channel.pair()
        init = _fork_pod(settings, theirs)
        theirs.close()
        self._links += 1
        made = _Pod(name, init, ours, f"p{self._links}" if settings.get("address") else "")
        self._pods[name] = made
        try:
            if made.link:
                with Netlink() as network:
                    network.make_pair(made.link, "eth0", init)
                    network.plug(made.link, BRIDGE)
            channel.send(ours, {"go": True})
            received = channel.receive(ours)
        except OSError as error:
            received = _no_message(str(error))
        if received is None or "error" in received[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(init, signal.SIGKILL)
            return {"error": received[0]["error"] if received else "the init of the pod ended at once"}, []
        return {"made": True}, []

    def _kill(self, name: str, then: Callable[[], None]) -> None:
        found = self._pods.get(name)
        if found is None:
            then()
            return
        self._waiting.setdefault(name, []).append(then)
        with contextlib.suppress(ProcessLookupError):
            os.kill(found.init, signal.SIGKILL)

    def _ended(self, child: int, _: int) -> None:
        found = next((one for one in self._pods.values() if one.init == child), None)
        if found is None:
            return
        del self._pods[found.name]
        found.control.close()
        if found.link:
            with contextlib.suppress(OSError), Netlink() as network:
                network.remove(found.link)
        for then in self._waiting.pop(found.name, ()):
            then()


def _no_message(error: str) -> Answer:
    return {"error": error}, []


def _fork_pod(settings: dict[str, Any], control: socket.socket) -> int:
    told_in, told_out = os.pipe()
    flags = linux.NEW_MOUNTS | linux.NEW_PIDS | linux.NEW_IPC | linux.NEW_NAMES
    if settings.get("address"):
        flags |= linux.NEW_NETWORK

    def first() -> int:
        linux.unshare(flags)
        os.write(told_out, str(process.fork(second)).encode())
        return 0

    def second() -> int:
        process.keep_only([control.fileno()])
        pod.live(settings, control)

    process.fork(first)
    os.close(told_out)
    with os.fdopen(told_in, "rb") as told:
        text = told.read()
    if not text:
        raise OSError("no new namespaces for a pod")
    return int(text)


def _socket(message: Message) -> Answer:
    return {}, [channel.new_socket(message.get("kind", "tcp")).detach()]


def _end(_: Message) -> Never:
    os._exit(0)


if __name__ == "__main__":
    main()
