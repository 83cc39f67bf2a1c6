"""``rayward crds``."""

from __future__ import annotations

import click

from rayward.kinds import crds
from rayward.kube.machinery import yamltext


@click.command()
@click.argument("plurals", nargs=-1, type=click.Choice((*crds.PLURALS, *crds.QUEUEING_PLURALS)), metavar="[KIND]...")
def command(plurals: tuple[str, ...]) -> None:
    """Print the definitions of Ray's kinds, to be piped into kubectl.

    \b
    rayward crds | kubectl apply --server-side --force-conflicts -f -

    They hold every field of KubeRay's own and more, and take their place where those are installed. KIND is
    rayclusters or rayservices; both are printed without one. Kueue's kinds (workloads, clusterqueues and so on) are
    printed when you name them: install them only where no Kueue is, because Kueue brings its own.
    """  # noqa: D301 -- click reads the backspace
    for plural in plurals or crds.PLURALS:
        click.echo(f"---\n{yamltext.dump(crds.manifest(plural))}", nl=False)
