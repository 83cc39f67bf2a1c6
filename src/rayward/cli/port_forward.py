"""``rayward port-forward``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from rayward.cli import podfind
from rayward.cli.completion import complete_pods
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import answer, tell
from rayward.cli.target import Session, Target, target_options
from rayward.kube.core.resource import SERVICES
from rayward.kube.machinery.jsonvalue import Object, entries, section

if TYPE_CHECKING:
    import asyncio

    from rayward.cli.streaming import Channels

_PROTOCOLS = ("v4.channel.k8s.io",)
_DATA, _TROUBLE = 0, 1
_READ = 64 * 1024
_HALF_OPEN_SECONDS = 60.0
_HIGHEST = 65535


@click.command("port-forward")
@click.argument("word", metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.argument("ports", nargs=-1, required=True, metavar="[LOCAL:]REMOTE...")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@target_options
def command(word: str, ports: tuple[str, ...], address: str, target: Target) -> None:
    """Forward local ports to a pod, to a pod of a Service, or to the head of a Ray cluster, until interrupted.

    \b
    Examples:
      rayward port-forward raycluster/train 8265
      rayward port-forward service/web 8080:80
    """  # noqa: D301
    import asyncio

    wanted = [read_port(port) for port in ports]
    with target.open() as session:
        found = podfind.owner_of(session, word)
        pod = podfind.one_pod(session, word)
        service = found[1] if found is not None and found[0].resource == SERVICES else None
        pairs = [(local, target_port(pod, service, remote)) for local, remote in wanted]
        # forwarding ends with Ctrl-C, as it should
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(session, pod["metadata"]["name"], address, pairs))


def read_port(text: str) -> tuple[int | None, str]:
    """``LOCAL:REMOTE``, ``PORT`` or ``:REMOTE``, which takes any free local port; a remote port may be a name.

    Raises:
        CommandError: It is none of them.
    """
    local, colon, remote = text.partition(":")
    if not colon:
        remote = local
        local = local if local.isdigit() else "0"
    number = int(local or "0") if (local or "0").isdigit() and local.isascii() else -1
    if not remote or ":" in remote or not 0 <= number <= _HIGHEST:
        raise CommandError(Code.USAGE, f"{text!r} is not a port", "", "rayward port-forward POD 8080:80")
    return number or None, remote


def target_port(pod: Object, service: Object | None, remote: str) -> int:
    """The port of the pod that is meant: a number, a name, or a port of the service in front of it.

    Raises:
        CommandError: There is no such port.
    """
    if service is not None:
        listed = entries(section(service, "spec"), "ports")
        match = [one for one in listed if remote in (str(one["port"]), one.get("name"))]
        if not match:
            known = ", ".join(str(one["port"]) for one in listed)
            name = service["metadata"]["name"]
            raise CommandError(
                Code.NOT_FOUND,
                f"service {name} has no port {remote}",
                f"it has: {known}",
                f"rayward get service {name}",
            )
        remote = str(match[0].get("targetPort") or match[0]["port"])
    if remote.isdigit() and 0 < int(remote) <= _HIGHEST:
        return int(remote)
    named = {
        port.get("name"): port["containerPort"]
        for container in entries(section(pod, "spec"), "containers")
        for port in entries(container, "ports")
    }
    if remote not in named:
        known = ", ".join(sorted(name for name in named if name)) or "none"
        name = pod["metadata"]["name"]
        raise CommandError(
            Code.NOT_FOUND, f"pod {name} has no port named {remote}", f"named ports: {known}", "give its number"
        )
    return int(named[remote])


async def _serve(session: Session, pod: str, address: str, pairs: list[tuple[int | None, int]]) -> None:
    import asyncio

    async with contextlib.AsyncExitStack() as stack:
        for local, remote in pairs:

            async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, remote: int = remote) -> None:
                await _carry(session, pod, remote, reader, writer)

            try:
                server = await asyncio.start_server(handle, address, local or 0)
            except OSError as error:
                following = f"rayward port-forward ... :{remote}   # takes any free port"
                what = f"cannot listen on {address}:{local}"
                raise CommandError(Code.UNAVAILABLE, what, str(error.strerror), following) from error
            await stack.enter_async_context(server)
            port = server.sockets[0].getsockname()[1]
            answer(f"Forwarding from {address}:{port} -> {remote}")
        await asyncio.Event().wait()


async def _carry(
    session: Session, pod: str, remote: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    import asyncio

    from rayward.cli import streaming
    from rayward.net.errors import NetworkError

    tell(f"Handling connection for {remote}")
    query = [("ports", str(remote))]
    try:
        opened = streaming.into_pod(session.access, session.namespace, pod, "portforward", query, _PROTOCOLS)
        async with opened as channels:
            outward = asyncio.create_task(_outward(channels, reader))
            try:
                await _inward(channels, writer)
            finally:
                outward.cancel()
                await asyncio.gather(outward, return_exceptions=True)
    except NetworkError as error:
        tell(f"the connection for {remote} failed: {error}")
    finally:
        writer.close()


async def _outward(channels: Channels, reader: asyncio.StreamReader) -> None:
    import asyncio

    with contextlib.suppress(OSError):
        while data := await reader.read(_READ):
            await channels.send(_DATA, data)
    # this protocol cannot say that one direction has ended: an answer may still come
    await asyncio.sleep(_HALF_OPEN_SECONDS)
    await channels.close()


async def _inward(channels: Channels, writer: asyncio.StreamWriter) -> None:
    begun: set[int] = set()
    with contextlib.suppress(OSError):
        async for channel, data in channels:
            if channel not in begun:
                # the first message of a channel is the port that it stands for
                begun.add(channel)
                continue
            if channel == _TROUBLE:
                tell(data.decode(errors="replace"))
            else:
                writer.write(data)
                await writer.drain()
