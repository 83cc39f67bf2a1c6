"""``python -m rayward.local.node``: nodes of this machine for an API server."""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from rayward.kube.client.access import ConfigError
from rayward.kube.machinery import quantity
from rayward.kube.machinery.quantity import QuantityError
from rayward.local.node.egress.proxy import PORT
from rayward.local.node.egress.target import variables
from rayward.local.node.machine import Shape, own_shape
from rayward.local.node.run import Options, serve
from rayward.local.node.sandbox.pod import BRIDGE_ADDRESS
from rayward.local.node.sandbox.process import raise_open_files
from rayward.local.node.work.host import Settings
from rayward.net.loop import run_loop

_PATH: Final = click.Path(path_type=Path)


@click.command("rayward.local.node")
@click.option("--kubeconfig", type=_PATH, required=True, help="File that names the API server.")
@click.option("--data-dir", type=_PATH, required=True, help="Folder of the pods.")
@click.option("--nodes", type=int, default=1, show_default=True, help="How many nodes to simulate.")
@click.option("--cpus", help="CPUs of each node (default: this machine's).")
@click.option("--memory", help="Memory of each node (default: this machine's).")
@click.option("--gpus", type=int, default=0, show_default=True, help="GPUs of each node.")
@click.option("--image", "images", multiple=True, metavar="NAME=ENV", help="Environment of an image; may be repeated.")
@click.option(
    "--images",
    "unnamed",
    type=click.Choice(["any", "strict"]),
    default="any",
    show_default=True,
    help="Whether images that no --image names run in this environment.",
)
@click.option("--project", type=_PATH, help="Folder of this machine that pods may write to.")
@click.option("--name", default=platform.node() or "local", show_default=True, help="Name of the node.")
@click.option("--hide", type=_PATH, multiple=True, help="Folder that no pod may see; may be repeated.")
@click.option("--client-ca", type=_PATH, help="Authority of clients that may ask for logs and the like.")
def main(
    kubeconfig: Path,
    data_dir: Path,
    nodes: int,
    cpus: str | None,
    memory: str | None,
    gpus: int,
    images: tuple[str, ...],
    unnamed: str,
    project: Path | None,
    name: str,
    hide: tuple[Path, ...],
    client_ca: Path | None,
) -> None:
    """Run pods as processes of this machine, until told to stop."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    raise_open_files()
    # What is hidden is compared with what is mounted as text: a link or ".." on the way would show it all the same.
    data = data_dir.resolve()
    try:
        settings = Settings(
            _environments(images),
            "" if unnamed == "strict" else sys.prefix,
            project.resolve() if project else None,
            # Whoever reads it is the administrator of the cluster.
            hidden=(str(kubeconfig.resolve()), *(str(path.resolve()) for path in hide)),
            variables=variables(BRIDGE_ADDRESS, PORT),
        )
        shape = _shape(data, cpus, memory, gpus)
        run_loop(serve(Options(kubeconfig, data, _names(name.lower(), nodes), shape, settings, client_ca=client_ca)))
    except (ConfigError, QuantityError, ValueError, OSError) as error:
        print(f"rayward: the node cannot start: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)


def _shape(data: Path, cpus: str | None, memory: str | None, gpus: int) -> Shape:
    shape = own_shape(data)
    if cpus:
        shape = msgspec.structs.replace(shape, cpus=quantity.parse(cpus))
    if memory:
        shape = msgspec.structs.replace(shape, memory=quantity.parse(memory))
    return msgspec.structs.replace(shape, gpus=gpus)


def _names(base: str, count: int) -> tuple[str, ...]:
    return (base,) if count == 1 else tuple(f"{base}-{number}" for number in range(count))


def _environments(mappings: Sequence[str]) -> dict[str, str]:
    environments: dict[str, str] = {}
    for mapping in mappings:
        image, found, folder = mapping.partition("=")
        if not found:
            raise ValueError(f"--image {mapping}: expected NAME=ENV")
        environments[image] = str(Path(folder).absolute())
    return environments


if __name__ == "__main__":
    main()
