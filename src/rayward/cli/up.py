"""``rayward up``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from click.core import ParameterSource

from rayward.cli.failure import Code, CommandError
from rayward.cli.output import answer, answer_json, data_option, folder_of, output_option, tell
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.runtime.scraping import read_target
from rayward.stack import control, monitoring, settings, state
from rayward.stack.folder import Folder
from rayward.stack.following import Logs
from rayward.stack.settings import Flags, Settings

_PORT = click.IntRange(0, 65535)
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "bright_red")


@click.command("up")
@click.option("--api-only", is_flag=True, help="Start only the API server and its controllers; no pod runs.")
@click.option("--foreground", is_flag=True, help="Stay and show the logs of all parts; Ctrl-C stops everything.")
@click.option("--port", type=_PORT, default=0, help="Port of the API server (default: the last one, or a free one).")
@click.option("--nodes", type=click.IntRange(1, 64), default=1, help="Number of simulated nodes.")
@click.option("--cpus", help="CPUs of each node (default: this machine's).")
@click.option("--memory", help="Memory of each node, such as 16Gi (default: this machine's).")
@click.option("--gpus", type=click.IntRange(0, 1024), default=0, help="GPUs of each node.")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="NAME=ENV",
    help="Run image NAME in Python environment ENV; may be repeated.",
)
@click.option(
    "--images",
    "image_policy",
    type=click.Choice(["any", "strict"]),
    default="any",
    help="Images without --image: any runs them in Rayward's environment, strict rejects them.",
)
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), help="Folder of this machine that pods may write to."
)
@click.option("--operator", type=click.Choice(["rayward", "none"]), default="rayward", help="Operator for Ray's kinds.")
@data_option
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    api_only: bool,
    foreground: bool,
    port: int,
    nodes: int,
    cpus: str | None,
    memory: str | None,
    gpus: int,
    images: tuple[str, ...],
    image_policy: str,
    project: str | None,
    operator: str,
    data: Path | None,
    form: str,
) -> None:
    """Start a local Kubernetes on this machine, with a node that runs pods as processes and Ray's operator.

    Flags of the node and --operator are remembered for the next `rayward up`, until `rayward down --purge`.

    \b
    Examples:
      rayward up
      rayward up --cpus 8 --memory 16Gi
      rayward up --image rayproject/ray=.venv
    """  # noqa: D301
    folder = folder_of(data)
    flags = ["--nodes", str(nodes), "--gpus", str(gpus), *_node_flags(cpus, memory, images, project)]
    flags += ["--images", image_policy]
    asked = _asked(ctx, flags, port, operator, api_only=api_only)
    kept: Flags = {} if api_only else settings.remembered(folder.settings, asked)
    wanted = Settings() if api_only else settings.chosen({**settings.paired(flags), "--operator": (operator,), **kept})
    # What a part says while the answer is written is shown too.
    logs = Logs(folder) if foreground else None
    try:
        up = control.up(folder, port=port, node=wanted.node, operator=wanted.operator, foreground=foreground, tell=tell)
        if up.already:
            _refuse_other_flags(folder, up, asked, data)
        elif kept:
            tell(f"as before: {shlex.join(settings.words(kept))} (remembered until down --purge)")
        _tell_troubles(folder, up)
        _answer(folder, up, form, api_only=api_only)
        if logs is not None:
            _show_logs(folder, logs)
    except KeyboardInterrupt:
        if not foreground:
            raise
        tell("stopping...")
        control.down(folder, purge=False)
        tell(f"stopped; objects stay in {folder.root}")


def _size(folder: Folder) -> str:
    """How much room for pods there is, as the nodes report it; empty where nobody answers."""
    from rayward.kube.client.config import find_access
    from rayward.kube.client.credentials import ConfigError
    from rayward.kube.client.errors import ApiError
    from rayward.kube.client.sync import SyncClient
    from rayward.kube.core.resource import NODES
    from rayward.net.errors import NetworkError

    try:
        with SyncClient.connect(find_access(folder.kubeconfig)) as client:
            nodes = client.list(NODES).items
    except (ApiError, ConfigError, NetworkError):
        return ""
    sizes = [section(section(node, "status"), "allocatable") for node in nodes]
    told = {f"{size.get('cpu')} CPUs, {_gibibytes(str(size.get('memory', '0')))}" for size in sizes}
    return f"{len(nodes)} node{'s' if len(nodes) > 1 else ''} with {' or '.join(sorted(told))}" if nodes else ""


def _gibibytes(text: str) -> str:
    from rayward.kube.machinery import quantity

    try:
        return f"{quantity.parse(text).as_int() / (1 << 30):.1f} GiB of memory"
    except quantity.QuantityError:
        return text


def _asked(ctx: click.Context, node: list[str], port: int, operator: str, *, api_only: bool) -> Flags:
    """The flags that were written, and not just have a default."""
    # what runs nothing has no pods to choose flags for
    given: Flags = {"--api-only": ()} if api_only else {**settings.paired(node), "--operator": (operator,)}
    if port:
        given = {**given, "--port": (str(port),)}
    names = {option: parameter.name or "" for parameter in ctx.command.params for option in parameter.opts}
    written = ParameterSource.COMMANDLINE
    return {flag: values for flag, values in given.items() if ctx.get_parameter_source(names[flag]) is written}


def _refuse_other_flags(folder: Folder, up: control.Up, asked: Flags, data: Path | None) -> None:
    """A stack keeps what it was started with; who asks for something else must not think to have it."""
    if up.state.settings is None:
        return
    known: Flags = {"--images": ("any",), **up.state.settings.flags, "--port": (folder.port.read_text(),)}
    told = settings.differing(asked, known)
    if told:
        place = ["--data-dir", str(data)] if data is not None else []
        again = shlex.join([*settings.words(asked), *place])
        why = "\n".join(f"{flag}: started with {instead}" for flag, instead in told.items())
        following = f"{shlex.join(['rayward', 'down', *place])} && rayward up {again}"
        raise CommandError(
            Code.CONFLICT, f"the stack is already running, but not with {' '.join(told)}", why, following
        )


def _tell_troubles(folder: Folder, up: control.Up) -> None:
    if up.trouble:
        tell("warning: pods stay Pending: this machine refuses what they need")
        for line in up.trouble.split("; allow"):
            tell(f"  why: {line}" if not line.startswith(" them") else f"  next: allow{line}")
    for part in up.failing:
        tell(f"warning: the {part.name} does not stay up: it {part.reason}")
        for line in state.tail(folder.logs / f"{part.name}.log", 3).splitlines():
            tell(f"  why: {line}")
        tell(f"  next: rayward status   # its log is {folder.logs / part.name}.log")


def _answer(folder: Folder, up: control.Up, form: str, *, api_only: bool) -> None:
    if form == "json":
        answer_json(
            {
                "apiVersion": "cli.rayward/v1",
                "kind": "Up",
                "dataDir": str(folder.root),
                "kubeconfig": str(folder.kubeconfig),
                "already": up.already,
                "podsTrouble": up.trouble,
                "failing": [part.name for part in up.failing],
                "metrics": read_target(folder.operator_metrics),
                "prometheusConfig": str(folder.monitoring / monitoring.SCRAPING),
            }
        )
        return
    tell("already running" if up.already else f"ready in {up.seconds:.1f} s")
    if api_only:
        tell("no pod runs here: objects are only stored (--api-only)")
    elif size := _size(folder):
        tell(f"{size} (--cpus and --memory change it; flags are remembered until down --purge)")
    if metrics := read_target(folder.operator_metrics):
        tell(f"metrics of the operator: {metrics}")
        tell(f"metrics of everything: prometheus --config.file={folder.monitoring / monitoring.SCRAPING}")
    answer(f"export KUBECONFIG={folder.kubeconfig}")


def _node_flags(cpus: str | None, memory: str | None, images: tuple[str, ...], project: str | None) -> list[str]:
    from rayward.kube.machinery import quantity

    for name, value in (("--cpus", cpus), ("--memory", memory)):
        try:
            quantity.parse(value or "1")
        except quantity.QuantityError as error:
            following = f"rayward up {name} {'4' if name == '--cpus' else '16Gi'}"
            raise CommandError(Code.USAGE, f"{name} {value} is not a quantity", str(error), following) from error
    for image in images:
        name, found, environment = image.partition("=")
        if not found or not name or not (Path(environment) / "bin").is_dir():
            why = "ENV is the folder of a Python environment, with a bin folder in it"
            following = "rayward up --image rayproject/ray=.venv"
            raise CommandError(Code.USAGE, f"--image {image} does not name an environment", why, following)
    # the node runs in a folder of its own, and hides the data folder by where it really is
    place = str(Path(project).resolve()) if project else None
    absolute = [f"{name}={Path(env).absolute()}" for name, _, env in (image.partition("=") for image in images)]
    pairs = [("--cpus", cpus), ("--memory", memory), ("--project", place), *(("--image", one) for one in absolute)]
    return [item for name, value in pairs if value for item in (name, value)]


def _show_logs(folder: Folder, logs: Logs) -> None:
    """Show what the parts say until the stack ends."""
    colours: dict[str, str] = {}
    for said in logs.follow(lambda: control.status(folder) is None):
        colour = colours.setdefault(said.part, _COLOURS[len(colours) % len(_COLOURS)])
        answer(f"{click.style(f'{said.part:<12}', fg=colour)} {said.line}")
    if state.unsupervised(folder) is not None:
        tell("warning: the supervisor was killed; the parts run without it")
        tell("  next: rayward up   # adopts them; rayward down ends them")
