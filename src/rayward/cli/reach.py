"""How services and Ray are reached from the user's shell."""

from __future__ import annotations

from collections.abc import Mapping

from rayward.cli.catalogue import Kind
from rayward.cli.failure import Code, CommandError
from rayward.cli.grid import Grid
from rayward.cli.target import Session
from rayward.kinds import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import SERVICES
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.net.errors import NetworkError

_DASHBOARD = ("dashboard", 8265)
_CLIENT = ("client", 10001)
_SERVE = ("serve", 8000)
_NONE = "<none>"
WORD = "url"


def with_addresses(client: SyncClient, kind: Kind, grid: Grid, namespace: str | None) -> Grid:
    """A table of services or of Ray's kinds with the addresses that work from the shell; any other as it is."""
    if kind.resource not in (SERVICES, RAY_CLUSTERS, RAY_SERVICES) or not grid.rows:
        return grid
    # one row may be an event of a watch, which goes on without its addresses
    alone = len(grid.rows) == 1
    try:
        known = client.list(SERVICES, grid.namespaces[0] if alone else namespace).items
    except (ApiError, NetworkError):
        if not alone:
            raise
        known = []
    services = {(service["metadata"]["namespace"], service["metadata"]["name"]): service for service in known}
    rows = list(zip(grid.namespaces, grid.names, strict=True))
    if kind.resource == SERVICES:
        return grid.with_column("SHELL-ADDRESS", [addresses(services.get(row)) or _NONE for row in rows])
    heads = [services.get((space, names.head_service(name))) for space, name in rows]
    grid = grid.with_column("DASHBOARD", [url("http", head, *_DASHBOARD) for head in heads])
    if kind.resource == RAY_CLUSTERS:
        return grid.with_column("RAY-CLIENT", [url("ray", head, *_CLIENT) for head in heads])
    serving = [services.get((space, names.serve_service(name))) for space, name in rows]
    return grid.with_column("SERVE", [url("http", service, *_SERVE) for service in serving])


def addressed(session: Session, kind: Kind, items: list[Object]) -> list[Object]:
    """Ray's objects of this machine with ``status.addresses``, which work from the shell; any others as they are."""
    if not session.local or kind.resource not in (RAY_CLUSTERS, RAY_SERVICES) or not items:
        return items
    spaces = {item["metadata"]["namespace"] for item in items}
    services = {
        (space, service["metadata"]["name"]): service
        for space in spaces
        for service in session.client.list(SERVICES, space).items
    }
    return [_addressed(kind, item, services) for item in items]


def _addressed(kind: Kind, item: Object, services: Mapping[tuple[str, str], Object]) -> Object:
    space, name = item["metadata"]["namespace"], item["metadata"]["name"]
    head = services.get((space, names.head_service(name)))
    found = {"dashboard": url("http", head, *_DASHBOARD)}
    if kind.resource == RAY_CLUSTERS:
        found["client"] = url("ray", head, *_CLIENT)
    else:
        found["serve"] = url("http", services.get((space, names.serve_service(name))), *_SERVE)
    known = {port: where for port, where in found.items() if where != _NONE}
    return {**item, "status": {**section(item, "status"), "addresses": known}} if known else item


def addresses(service: Object | None) -> str:
    """Where the ports of a service answer in a shell of this machine."""
    from rayward.local.addresses import shell_addresses_of

    return ",".join(map(str, shell_addresses_of(service))) if service is not None else ""


def url(scheme: str, service: Object | None, name: str, number: int) -> str:
    """The address of one port of a service, by the port's name or its usual number."""
    from rayward.local.addresses import shell_addresses_of

    found = shell_addresses_of(service) if service is not None else []
    chosen = [one for one in found if one.name == name] or [one for one in found if one.port == number]
    return f"{scheme}://{chosen[0]}" if chosen else _NONE


def url_of(session: Session, name: str) -> str:
    """Where a RayService's applications answer, or else the dashboard of the RayCluster of that name.

    Raises:
        NotFound: There is neither.
        CommandError: It answers nowhere yet, or this server is not on this machine.
    """
    client, namespace = session.client, session.namespace
    try:
        kind, service, port = "rayservice", names.serve_service(name), _SERVE
        client.get(RAY_SERVICES, name, namespace)
    except NotFound:
        kind, service, port = "raycluster", names.head_service(name), _DASHBOARD
        client.get(RAY_CLUSTERS, name, namespace)
    if not session.local:
        why = "the server is not on this machine"
        raise CommandError(
            Code.NO, f"{kind} {name} has no address here", why, f"rayward port-forward service/{service} {port[1]}"
        )
    try:
        found = url("http", client.get(SERVICES, service, namespace), *port)
    except NotFound:
        found = _NONE
    if found == _NONE:
        why = f"Service {service} is created when the first release serves"
        raise CommandError(Code.NO, f"{kind} {name} has no address yet", why, f"rayward get {kind} {name}")
    return found
