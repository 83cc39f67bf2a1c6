"""``rayward crds``."""

from __future__ import annotations

import click

from rayward.kinds import crds
from rayward.kube.machinery import yamltext


@click.command()
@click.argument("plurals", nargs=-1, type=click.Choice((*crds.PLURALS, *crds.QUEUEING_PLURALS)), metavar="[KIND]...")
def command(plurals: tuple[str, ...]) -> None:
    """Print the CustomResourceDefinitions of Ray's kinds, for kubectl apply.

    \b
    Examples:
      rayward crds | kubectl apply --server-side --force-conflicts -f -

    They have every field of KubeRay's own definitions, and replace those where they are installed. KIND is a plural
    such as rayservices; without one all of Ray's kinds are printed. Kueue's kinds (workloads, clusterqueues and so
    on) are printed only when you name them: install them where Kueue is not, because Kueue brings its own.
    """  # noqa: D301 -- click reads the backspace
    for plural in plurals or crds.PLURALS:
        click.echo(f"---\n{yamltext.dump(crds.manifest(plural))}", nl=False)
