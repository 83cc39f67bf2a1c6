"""``rayward get``."""

from __future__ import annotations

import click

from rayward.cli import fetch, naming, raytoken, reach, watching
from rayward.cli.catalogue import read_catalogue
from rayward.cli.columns import with_columns
from rayward.cli.completion import complete_any
from rayward.cli.failure import Code, CommandError
from rayward.cli.fetch import Scope
from rayward.cli.forms import Form, FormType, as_list, rendered, without_managed
from rayward.cli.grid import Grid, lay_out, read_table
from rayward.cli.naming import Asked
from rayward.cli.output import answer, tell
from rayward.cli.target import Session, Target, target_options
from rayward.kube.client.errors import NotFound
from rayward.kube.machinery.jsonvalue import Object


@click.command("get")
@click.argument("words", nargs=-1, metavar="KIND[,KIND] [NAME...] | KIND/NAME...", shell_complete=complete_any)
@click.option("-A", "--all-namespaces", is_flag=True, help="Objects of every namespace.")
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@click.option("--field-selector", "fields", default="", help="Only objects with these fields.")
@click.option("-o", "--output", "form", type=FormType(), default=Form(), help="wide, json, yaml, name, jsonpath=...")
@click.option("-w", "--watch", is_flag=True, help="Print every change until interrupted.")
@click.option("--no-headers", is_flag=True, help="Do not print the names of the columns.")
@click.option("--show-managed-fields", "managed", is_flag=True, help="Show who owns which field, in JSON and YAML.")
@target_options
def command(
    words: tuple[str, ...],
    all_namespaces: bool,
    labels: str,
    fields: str,
    form: Form,
    watch: bool,
    no_headers: bool,
    managed: bool,
    target: Target,
) -> None:
    """List objects.

    `get url NAME` prints the address of a RayService, or of the dashboard of a RayCluster, for your shell.
    `get token NAME` prints the token that clients of a RayCluster or RayService need.

    \b
    Examples:
      rayward get rayservices
      rayward get pods,services -A
      rayward get rayservice shop -o json
      curl $(rayward get url shop)
    """  # noqa: D301
    with target.open() as session:
        if len(words) == len((raytoken.WORD, "NAME")) and words[0] == raytoken.WORD:
            answer(raytoken.token(session, words[1]))
            return
        if len(words) == len((reach.WORD, "NAME")) and words[0] == reach.WORD:
            answer(reach.url_of(session, words[1]))
            return
        asked = naming.parse(words, read_catalogue(session.client), verb="get")
        scope = Scope(None if all_namespaces else session.namespace, labels, fields)
        if all_namespaces and any(one.names for one in asked):
            why = "an object has its name in one namespace only"
            raise CommandError(Code.USAGE, "names and --all-namespaces exclude each other", why, "rayward get KIND -A")
        if watch:
            watching.follow(session, _only(asked), scope, form, headers=not no_headers)
            return
        missing: list[NotFound] = []
        if form.is_table:
            _tables(session, asked, scope, missing, wide=form.name == "wide", headers=not no_headers)
        else:
            _documents(session, asked, scope, missing, form, managed=managed)
        if missing:
            raise missing[0]


def _only(asked: list[Asked]) -> Asked:
    if len(asked) != 1 or len(asked[0].names) > 1:
        why = "a watch follows one kind, or one object of it"
        raise CommandError(Code.USAGE, "too much to watch at once", why, "rayward get pods -w")
    return asked[0]


def _tables(
    session: Session, asked: list[Asked], scope: Scope, missing: list[NotFound], *, wide: bool, headers: bool
) -> None:
    shown = 0
    for one in asked:
        grid = read_table(fetch.table(session.client, one, scope, missing), wide=wide)
        if not grid.rows:
            continue
        if shown:
            answer("")
        shown += 1
        grid = with_columns(session, one.kind, grid, scope.namespace)
        answer("\n".join(lay_out(_decorated(grid, one, scope, several=len(asked) > 1), headers=headers)))
    if not shown and not missing:
        spaced = scope.namespace is not None and any(one.kind.resource.namespaced for one in asked)
        tell(f"No resources found in {scope.namespace} namespace." if spaced else "No resources found")


def _decorated(grid: Grid, asked: Asked, scope: Scope, *, several: bool) -> Grid:
    if several:
        grid = grid.titled(asked.kind.title)
    return grid.with_namespaces() if scope.namespace is None and asked.kind.resource.namespaced else grid


def _documents(
    session: Session, asked: list[Asked], scope: Scope, missing: list[NotFound], form: Form, *, managed: bool
) -> None:
    found = [(one, fetch.objects(session.client, one, scope, missing).items) for one in asked]
    if form.name == "name":
        for one, items in found:
            for item in items:
                answer(naming.title(one.kind, item["metadata"]["name"]))
        return
    objects: list[Object] = [
        item if managed else without_managed(item)
        for one, items in found
        for item in reach.addressed(session, one.kind, items)
    ]
    single = len(asked) == 1 and len(asked[0].names) == 1
    if single and not objects:
        return
    answer(rendered(objects[0] if single else as_list(objects), form))
