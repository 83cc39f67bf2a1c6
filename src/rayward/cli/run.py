"""``rayward run``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from rayward.changes import packing
from rayward.changes.refs import Ref
from rayward.changes.running import Run
from rayward.cli import terminal
from rayward.cli.changing import changing
from rayward.cli.failure import Code, CommandError
from rayward.cli.following import follow, how_to_return, name_of
from rayward.cli.output import answer, folder_of, tell
from rayward.cli.target import Target, target_options
from rayward.kube.client.access import ConfigError
from rayward.stack import control, settings

_RAY_VERSION = "2.60.0"


@click.command("run", context_settings={"ignore_unknown_options": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENT...]")
@click.option("--name", default="", help="Name of the RayJob (default: the program's name and a suffix).")
@click.option("--working-dir", type=click.Path(path_type=Path), help="Folder of code to upload and run in.")
@click.option("--runtime-env", type=click.Path(path_type=Path, dir_okay=False), help="Ray's runtime environment, YAML.")
@click.option("--workers", type=click.IntRange(0, 10_000), default=0, help="How many workers (default 0: head only).")
@click.option("--cpus", default="1", help="CPUs of each worker, or of the head where there are no workers.")
@click.option("--gpus", type=click.IntRange(0, 1024), default=0, help="GPUs of each worker, or of the head.")
@click.option("--memory", default="2Gi", help="Memory of each worker, or of the head.")
@click.option("--image", help="Image of all pods (default: rayproject/ray of the Ray version here).")
@click.option("--ray-version", help="Version of Ray in the image (default: the one that is installed here).")
@click.option("--retries", type=click.IntRange(0, 100), default=0, help="How often a failed job is tried again.")
@click.option("--detach", "-d", is_flag=True, help="Create the job and do not wait for it.")
@click.option("--yes", "-y", is_flag=True, help="Run `rayward up` first where no server is found.")
@target_options
def command(
    program: tuple[str, ...],
    name: str,
    working_dir: Path | None,
    runtime_env: Path | None,
    workers: int,
    cpus: str,
    gpus: int,
    memory: str,
    image: str | None,
    ray_version: str | None,
    retries: int,
    detach: bool,
    yes: bool,
    target: Target,
) -> int:
    """Run a program on a Ray cluster of its own, and follow it. The exit code is 8 when it failed.

    \b
    Examples:
      rayward run -- python -c 'import ray; ray.init(); print(ray.nodes())'
      rayward run --working-dir . --workers 4 --gpus 1 -- python train.py --epochs 3
    """  # noqa: D301
    version = ray_version or _installed_version()
    wanted = Run(
        program,
        image or f"rayproject/ray:{version}",
        version,
        cpus,
        gpus,
        memory,
        workers,
        _text(runtime_env),
        retries,
    )
    package = _packed(working_dir, program)
    _have_server(target, gpus * max(workers, 1), yes=yes)
    with changing(target) as (client, session):
        session.say_where()
        made = client.run(wanted, name=name, working_dir=package)
        ref = Ref("RayJob", name_of(made), session.namespace)
        tell(f"{ref} created: {_retry_policy(retries)}")
        if detach:
            tell(how_to_return(ref, target))
            answer(f"rayjob.ray.io/{ref.name}")
            return 0
        return follow(client, ref, target)


def _retry_policy(retries: int) -> str:
    if not retries:
        return "a failed attempt is not tried again (--retries N)"
    times = "once" if retries == 1 else f"up to {retries} times"
    return f"a failed attempt is tried again {times}, on a new cluster; one whose outcome is unknown is not"


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:
        # too long for a name: a program, say
        return False


def _packed(folder: Path | None, program: tuple[str, ...]) -> packing.Package | None:
    if folder is None:
        local = [
            word
            for before, word in zip(("", *program), program, strict=False)
            if not word.startswith("-") and before != "-c" and _is_file(word)
        ]
        # a program of the image may have the name of a file here
        if local and not Path(local[0]).is_absolute():
            again = shlex.join(["rayward", "run", "--working-dir", ".", "--", *program])
            tell(f"Warning: {local[0]} is on this machine and is not uploaded; to upload it: {again}")
        return None
    package = packing.pack(folder)
    size, archive, limit = map(packing.amount, (package.size, len(package.data), packing.LIMIT))
    tell(f"uploading {folder}: {package.files} files, {size}, {archive} compressed (limit {limit})")
    for name in package.skipped:
        tell(f"Warning: {name} is not a file inside the folder and is not uploaded")
    return package


def _text(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(Code.USAGE, f"cannot read {file}", str(error), "rayward run --runtime-env FILE") from error


def _have_server(target: Target, gpus: int, *, yes: bool) -> None:
    """Offer to start the stack, with so many GPUs, where no server is named."""
    try:
        target.access()
    except (CommandError, ConfigError) as error:
        named = target.kubeconfig is not None or target.context is not None
        if named or (isinstance(error, CommandError) and error.code is not Code.UNAVAILABLE):
            raise
    else:
        return
    if not yes:
        if not terminal.is_terminal():
            why = "none runs here, and no kubeconfig names one"
            following = "rayward run --yes ...   # starts one here; or name one: --kubeconfig FILE, --context NAME"
            raise CommandError(Code.USAGE, "there is no Kubernetes to run on", why, following)
        if not click.confirm("There is no Kubernetes to run on. Start one on this machine?", default=True, err=True):
            raise click.Abort
    folder = folder_of(target.data)
    kept, wanted = settings.remembered(folder.settings, {}), settings.plain(folder.settings, gpus)
    up = control.up(folder, node=wanted.node, operator=wanted.operator, tell=tell)
    if kept and not up.already:
        tell(f"started with {shlex.join(settings.words(wanted.flags))} (remembered until down --purge)")


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ray")
    except PackageNotFoundError:
        return _RAY_VERSION
