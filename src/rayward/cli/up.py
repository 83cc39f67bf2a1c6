"""``rayward up``."""

from __future__ import annotations

from pathlib import Path

import click

from rayward.cli.output import answer, answer_json, data_option, folder_of, output_option, tell
from rayward.stack import control

_PORT = click.IntRange(0, 65535)


@click.command("up")
@click.option("--api-only", is_flag=True, help="Start the API server and its controllers, and no node.")
@click.option("--port", type=_PORT, default=0, help="Port of the API server (default: the last one, or a free one).")
@click.option("--nodes", type=click.IntRange(1, 64), default=1, help="How many nodes to simulate.")
@click.option("--cpus", help="CPUs of each node (default: this machine's).")
@click.option("--memory", help="Memory of each node, such as 16Gi (default: this machine's).")
@click.option("--gpus", type=click.IntRange(0, 1024), default=0, help="GPUs of each node.")
@click.option("--image", "images", multiple=True, metavar="NAME=ENV", help="Python environment of an image.")
@click.option("--project", type=click.Path(exists=True, file_okay=False), help="Folder that pods may write to.")
@data_option
@output_option
def command(
    api_only: bool,
    port: int,
    nodes: int,
    cpus: str | None,
    memory: str | None,
    gpus: int,
    images: tuple[str, ...],
    project: str | None,
    data: Path | None,
    form: str,
) -> None:
    """Start Kubernetes on this machine, in the background: an API server, its controllers and a node for pods."""
    folder = folder_of(data)
    flags = ["--nodes", str(nodes), "--gpus", str(gpus)]
    flags += [
        item
        for name, value in (("--cpus", cpus), ("--memory", memory), ("--project", project))
        if value
        for item in (name, value)
    ]
    flags += [item for image in images for item in ("--image", image)]
    up = control.up(folder, port=port, node=None if api_only else flags, tell=tell)
    if form == "json":
        answer_json(
            {
                "apiVersion": "cli.rayward/v1",
                "kind": "Up",
                "dataDir": str(folder.root),
                "kubeconfig": str(folder.kubeconfig),
                "already": up.already,
            }
        )
        return
    tell("it runs already" if up.already else f"ready in {up.seconds:.1f} s")
    if api_only:
        tell("nothing here runs pods: they are stored and served, no more")
    answer(f"export KUBECONFIG={folder.kubeconfig}")
