"""``rayward crds``."""

from __future__ import annotations

import click

from rayward.kinds import crds
from rayward.kube.machinery import yamltext


@click.command()
@click.argument("plurals", nargs=-1, type=click.Choice((*crds.PLURALS, *crds.QUEUEING_PLURALS)), metavar="[KIND]...")
@click.option("--argocd", is_flag=True, help="Print health checks of Ray's kinds for Argo CD instead.")
def command(plurals: tuple[str, ...], *, argocd: bool) -> None:
    """Print the CustomResourceDefinitions of Ray's kinds, for kubectl apply.

    They have every field of KubeRay's own definitions, and replace those where they are installed. KIND is a plural
    such as rayservices; without one all of Ray's kinds are printed. Kueue's kinds (workloads, clusterqueues and so
    on) are printed only when you name them: install them where Kueue is not, because Kueue brings its own.

    \b
    Examples:
      rayward crds | kubectl apply --server-side --force-conflicts -f -
      rayward crds --argocd | kubectl apply --server-side -n argocd -f -
    """  # noqa: D301 -- click reads the backspace
    if argocd:
        if plurals:
            raise click.UsageError("--argocd prints the checks of all of Ray's kinds: name none")
        click.echo(yamltext.dump(crds.argocd_config()), nl=False)
        return
    for plural in plurals or crds.PLURALS:
        click.echo(f"---\n{yamltext.dump(crds.manifest(plural))}", nl=False)
