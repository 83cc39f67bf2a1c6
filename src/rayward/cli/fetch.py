"""Reading objects and tables of them, by name or by selector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rayward.cli.catalogue import Kind
from rayward.cli.grid import Grid
from rayward.cli.naming import Asked
from rayward.kube.client import verbs
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.lists import PAGE_SIZE, ObjectList
from rayward.kube.client.options import ListOptions, Selectors
from rayward.kube.client.request import TABLE
from rayward.kube.client.sync import SyncClient
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.net.errors import NetworkError


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a collection are meant; no namespace means all."""

    namespace: str | None
    labels: str = ""
    fields: str = ""

    def selectors(self) -> Selectors:
        """As options of a request."""
        chosen = Selectors()
        if self.labels:
            chosen["label_selector"] = self.labels
        if self.fields:
            chosen["field_selector"] = self.fields
        return chosen

    def place(self, kind: Kind) -> str | None:
        """The namespace for a kind."""
        return self.namespace if kind.resource.namespaced else None


def objects(client: SyncClient, asked: Asked, scope: Scope, missing: list[NotFound]) -> ObjectList:
    """The objects that are meant; those that are not there are told in ``missing``."""
    namespace = scope.place(asked.kind)
    if not asked.names:
        return client.list(asked.kind.resource, namespace, **scope.selectors())
    found: list[Object] = []
    for name in asked.names:
        try:
            found.append(client.get(asked.kind.resource, name, namespace))
        except NotFound as error:
            missing.append(error)
    return ObjectList(found, "")


def table(client: SyncClient, asked: Asked, scope: Scope, missing: list[NotFound]) -> Object:
    """The server's Table of the objects that are meant."""
    whole: Object = {}
    for part in _tables(client, asked, scope, missing):
        if whole:
            whole["rows"] = (whole.get("rows") or []) + (part.get("rows") or [])
        else:
            whole = part
    return whole


def of_rows(client: SyncClient, kind: Kind, grid: Grid, namespace: str | None) -> list[Object]:
    """The object that each row of a table is about, empty for one that is gone.

    One row is one event of a watch: it costs one object, and an error leaves it empty, so that the watch goes on.
    """
    if len(grid.rows) == 1:
        try:
            only = client.list(kind.resource, grid.namespaces[0], field_selector=f"metadata.name={grid.names[0]}").items
        except (ApiError, NetworkError):
            only = []
        return [only[0] if only else {}]
    found = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in client.list(kind.resource, namespace).items
    }
    return [found.get(row, {}) for row in zip(grid.namespaces, grid.names, strict=True)]


def _tables(client: SyncClient, asked: Asked, scope: Scope, missing: list[NotFound]) -> Iterator[Object]:
    namespace, resource = scope.place(asked.kind), asked.kind.resource
    for name in asked.names:
        try:
            yield client.send(verbs.get(resource, name, namespace, accept=TABLE))
        except NotFound as error:
            missing.append(error)
    following = ""
    while not asked.names:
        options = ListOptions(limit=PAGE_SIZE, **scope.selectors())
        if following:
            options["continue_token"] = following
        page = client.send(verbs.list_(resource, namespace, accept=TABLE, **options))
        yield page
        following = str(section(page, "metadata").get("continue") or "")
        if not following:
            return
