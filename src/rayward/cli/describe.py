"""``rayward describe``."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from rayward.cli import fetch, naming, reach
from rayward.cli.catalogue import read_catalogue
from rayward.cli.completion import complete_any
from rayward.cli.describing import general, pod
from rayward.cli.fetch import Scope
from rayward.cli.output import answer, answer_json, output_option, tell
from rayward.cli.target import Session, Target, target_options
from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import EVENTS, PODS
from rayward.kube.machinery.jsonvalue import Object


@click.command("describe")
@click.argument("words", nargs=-1, metavar="KIND [NAME...] | KIND/NAME...", shell_complete=complete_any)
@click.option("-l", "--selector", "labels", default="", help="Only objects with these labels.")
@output_option
@target_options
def command(words: tuple[str, ...], labels: str, form: str, target: Target) -> None:
    """Show an object with its fields, conditions and events.

    \b
    Examples:
      rayward describe rayservice/shop
      rayward describe pods -l app=web
    """  # noqa: D301
    with target.open() as session:
        missing: list[NotFound] = []
        told: list[tuple[Object, list[Object]]] = []
        for one in naming.parse(words, read_catalogue(session.client), verb="describe"):
            found = fetch.objects(session.client, one, Scope(session.namespace, labels), missing).items
            told += [(item, _events(session, item)) for item in reach.addressed(session, one.kind, found)]
        if form == "json":
            items = [{"object": found, "events": events} for found, events in told]
            answer_json({"apiVersion": "cli.rayward/v1", "kind": "Description", "items": items})
        else:
            now = datetime.now(UTC)
            pages = [_page(found, events, now) for found, events in told]
            if pages:
                answer("\n\n\n".join(pages))
            elif not missing:
                tell(f"No resources found in {session.namespace} namespace.")
        if missing:
            raise missing[0]


def _page(found: Object, events: list[Object], now: datetime) -> str:
    is_pod = (found.get("apiVersion"), found.get("kind")) == (PODS.api_version, PODS.kind)
    return (pod if is_pod else general).describe(found, events, now)


def _events(session: Session, found: Object) -> list[Object]:
    metadata = found["metadata"]
    # events about what has no namespace lie in the default one
    namespace = metadata.get("namespace") or "default"
    chosen = f"involvedObject.uid={metadata['uid']}"
    events = session.client.list(EVENTS, namespace, field_selector=chosen).items
    if events or metadata.get("namespace"):
        return events
    # a kubelet knows its node by name only
    named = f"involvedObject.kind={found.get('kind')},involvedObject.name={metadata['name']}"
    return session.client.list(EVENTS, namespace, field_selector=named).items
