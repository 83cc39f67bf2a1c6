"""``rayward exec``."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from rayward.cli import podfind
from rayward.cli.completion import complete_pods
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell
from rayward.cli.target import Session, Target, target_options
from rayward.kube.machinery.jsonvalue import Object, entries, section

_PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


@click.command("exec")
@click.argument("word", metavar="POD | KIND/NAME", shell_complete=complete_pods)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("-c", "--container", help="Container (default: the pod's default, or its first).")
@click.option("-i", "--stdin", "interactive", is_flag=True, help="Pass stdin to the command.")
@click.option("-t", "--tty", "terminal", is_flag=True, help="Give the command a terminal.")
@target_options
def command(
    word: str, program: tuple[str, ...], container: str | None, interactive: bool, terminal: bool, target: Target
) -> int:
    """Run a command in a container, and exit with its exit code.

    \b
    Examples:
      rayward exec rayservice/shop -- ray status
      rayward exec web -c main -it -- bash
    """  # noqa: D301
    import asyncio

    from rayward.cli.terminal import is_terminal

    if terminal and not (interactive and is_terminal()):
        tell("Unable to use a TTY - input is not a terminal or the right kind of file")
        terminal = False
    with target.open() as session:
        pod = podfind.one_pod(session, word)
        chosen = podfind.container_of(pod, container)
        _check_running(pod, chosen)
        run = _run(session, pod["metadata"]["name"], chosen, program, interactive=interactive, terminal=terminal)
        return asyncio.run(run)


def _check_running(pod: Object, container: str) -> None:
    name, status = pod["metadata"]["name"], section(pod, "status")
    every = [
        one
        for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for one in entries(status, field)
    ]
    found = next((one for one in every if one["name"] == container), None)
    if found is not None and "running" in section(found, "state"):
        return
    state = section(found, "state") if found is not None else {}
    reasons = [f"{word}: {section(state, word).get('reason', '')}".rstrip(": ") for word in state]
    why = ", ".join(reasons) or f"the pod is {status.get('phase', 'Pending')}"
    what = f"container {container} of pod {name} does not run"
    raise CommandError(Code.INVALID, what, why, f"rayward describe pod {name}")


async def _run(
    session: Session, pod: str, container: str, program: tuple[str, ...], *, interactive: bool, terminal: bool
) -> int:
    import asyncio

    from rayward.cli import streaming
    from rayward.cli import terminal as screen

    query = [("container", container), ("stdout", "true"), *(("command", word) for word in program)]
    query += [("stdin", "true")] if interactive else []
    query += [("tty", "true")] if terminal else [("stderr", "true")]
    outcome = b""
    async with streaming.into_pod(session.access, session.namespace, pod, "exec", query, _PROTOCOLS) as channels:
        with screen.raw() if terminal else contextlib.nullcontext():
            helpers: list[asyncio.Task[None]] = []
            if interactive:
                helpers.append(asyncio.create_task(_hand_on(channels, screen.typed())))
            if terminal:
                helpers.append(asyncio.create_task(_resize(channels, screen.resizes())))
            try:
                async for channel, data in channels:
                    if channel == streaming.ERROR:
                        outcome += data
                    else:
                        screen.write(data, err=channel == streaming.STDERR)
            finally:
                for helper in helpers:
                    helper.cancel()
                await asyncio.gather(*helpers, return_exceptions=True)
    return exit_code(outcome, pod)


async def _hand_on(channels: Any, parts: Any) -> None:
    from rayward.cli import streaming

    while part := await parts.get():
        await channels.send(streaming.STDIN, part)
    if channels.can_close_input:
        await channels.send(streaming.CLOSE, bytes([streaming.STDIN]))


async def _resize(channels: Any, sizes: Any) -> None:
    from rayward.cli import streaming

    while True:
        await channels.send(streaming.RESIZE, await sizes.get())


def exit_code(outcome: bytes, pod: str) -> int:
    """How a command ended, from what the error channel said.

    Raises:
        CommandError: It did not run, or nobody knows.
    """
    import orjson

    following = f"rayward describe pod {pod}"
    if not outcome:
        raise CommandError(
            Code.UNAVAILABLE, "the connection to the pod was lost", "the command may still be running", following
        )
    try:
        status: Object = orjson.loads(outcome)
    except orjson.JSONDecodeError:
        status = {"message": outcome.decode(errors="replace")}
    if status.get("status") == "Success":
        return 0
    for cause in entries(section(status, "details"), "causes"):
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise CommandError(Code.INVALID, "the command did not run", str(status.get("message", "")), following)
