"""``rayward up``."""

from __future__ import annotations

from pathlib import Path

import click

from rayward.cli.output import answer, answer_json, data_option, folder_of, output_option, tell
from rayward.stack import control


@click.command("up")
@click.option("--api-only", is_flag=True, required=True, help="Start the API server and its controllers; no node yet.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the API server (default: the last one, or a free one).",
)
@data_option
@output_option
def command(api_only: bool, port: int, data: Path | None, form: str) -> None:
    """Start Kubernetes on this machine: an API server and its controllers, in the background."""
    del api_only
    folder = folder_of(data)
    up = control.up(folder, port=port, tell=tell)
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
    tell("nothing here runs pods yet: Pods and Deployments are stored and served, no more")
    answer(f"export KUBECONFIG={folder.kubeconfig}")
