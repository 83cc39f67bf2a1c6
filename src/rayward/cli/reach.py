"""How a service is reached from the user's shell."""

from __future__ import annotations

from rayward.cli.catalogue import Kind
from rayward.cli.grid import Grid
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import SERVICES
from rayward.kube.machinery.jsonvalue import Object


def with_addresses(client: SyncClient, kind: Kind, grid: Grid, namespace: str | None) -> Grid:
    """A table of services with the addresses that work from the shell; any other table as it is."""
    if kind.resource != SERVICES or not grid.rows:
        return grid
    found = {
        (service["metadata"]["namespace"], service["metadata"]["name"]): addresses(service)
        for service in client.list(SERVICES, namespace).items
    }
    cells = [found.get(row) or "<none>" for row in zip(grid.namespaces, grid.names, strict=True)]
    return grid.with_column("SHELL-ADDRESS", cells)


def addresses(service: Object) -> str:
    """Where the ports of a service answer in a shell of this machine."""
    from rayward.local.traffic.addresses import shell_addresses_of

    return ",".join(map(str, shell_addresses_of(service)))
