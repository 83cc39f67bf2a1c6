"""Following a collection on the terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import orjson

from rayward.cli import fetch, naming
from rayward.cli.columns import with_columns
from rayward.cli.fetch import Scope
from rayward.cli.forms import Form, rendered, without_managed
from rayward.cli.grid import Grid, lay_out, read_table, widths
from rayward.cli.naming import Asked
from rayward.cli.output import answer
from rayward.cli.target import Session
from rayward.kube.client import verbs
from rayward.kube.client.errors import Expired, NotFound, from_status
from rayward.kube.client.options import WatchOptions
from rayward.kube.client.request import JSON, TABLE
from rayward.kube.client.watch import LineSplitter
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import ConnectionLost, TimedOut


def follow(session: Session, asked: Asked, scope: Scope, form: Form, *, headers: bool) -> None:
    """Show what is there, then every change, until interrupted.

    Raises:
        ApiError, NetworkError: The server refused, or is gone.
    """
    screen = _Screen(session, asked, scope, form, headers=headers)
    named = Scope(scope.namespace, scope.labels, _with_name(scope.fields, asked))
    while True:
        missing: list[NotFound] = []
        if form.is_table:
            start = fetch.table(session.client, Asked(asked.kind), named, missing)
            screen.show(start)
            version = str(section(start, "metadata").get("resourceVersion") or "")
        else:
            listed = fetch.objects(session.client, Asked(asked.kind), named, missing)
            for item in listed.items:
                screen.show(item)
            version = listed.resource_version
        with contextlib.suppress(Expired):
            for changed in _changes(session, asked, named, version, TABLE if form.is_table else JSON):
                screen.show(changed)


def _with_name(fields: str, asked: Asked) -> str:
    named = [f"metadata.name={name}" for name in asked.names]
    return ",".join([*([fields] if fields else []), *named])


def _changes(session: Session, asked: Asked, scope: Scope, version: str, accept: str) -> Iterator[Object]:
    """What the events of a watch carry; a watch that ends is opened again where it was."""
    while True:
        options = WatchOptions(resource_version=version, allow_watch_bookmarks=True, **scope.selectors())
        request = verbs.watch(asked.kind.resource, scope.place(asked.kind), accept=accept, **options)
        # silence and an end are the server's ways of saying that a watch has lived long enough
        with contextlib.suppress(ConnectionLost, TimedOut), session.client.stream(request) as stream:
            lines = LineSplitter()
            for part in stream:
                for line in lines.feed(part):
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        raise from_status(event["object"])
                    version = _version(event["object"]) or version
                    if event["type"] != "BOOKMARK":
                        yield event["object"]


def _version(carried: Object) -> str:
    rows = entries(carried, "rows")
    about = section(rows[-1], "object") if rows else carried
    return str(section(about, "metadata").get("resourceVersion") or "")


class _Screen:
    def __init__(self, session: Session, asked: Asked, scope: Scope, form: Form, *, headers: bool) -> None:
        self._session = session
        self._namespace = scope.namespace
        self._asked = asked
        self._every = scope.namespace is None and asked.kind.resource.namespaced
        self._form = form
        self._headers = headers
        self._columns: Object = {}
        self._widths: tuple[int, ...] = ()

    def show(self, carried: Object) -> None:
        """Print a table's rows, or an object."""
        if not self._form.is_table:
            named = naming.title(self._asked.kind, section(carried, "metadata").get("name", ""))
            answer(named if self._form.name == "name" else rendered(without_managed(carried), self._form))
            return
        # only the first table of a watch says what its columns are
        self._columns = (
            {"columnDefinitions": entries(carried, "columnDefinitions")} if not self._columns else self._columns
        )
        grid = self._decorated(read_table({**carried, **self._columns}, wide=self._form.name == "wide"))
        if not grid.rows:
            return
        for line in lay_out(grid, headers=self._headers, at_least=self._widths):
            answer(line)
        self._headers = False
        self._widths = widths(grid)

    def _decorated(self, grid: Grid) -> Grid:
        grid = with_columns(self._session, self._asked.kind, grid, self._namespace)
        return grid.with_namespaces() if self._every else grid
