"""``rayward timeline``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import click
import msgspec

from rayward.changes.outcomes import Forbidden, NotFound, Unavailable
from rayward.changes.refs import Ref
from rayward.changes.timeline import Entry, Recorded, Store
from rayward.changes.timeline.asking import DEFAULT
from rayward.changes.timeline.page import page
from rayward.cli.changing import changing, ref_of
from rayward.cli.completion import complete_objects
from rayward.cli.durations import DurationType
from rayward.cli.grid import Grid, lay_out
from rayward.cli.output import answer, answer_json, folder_of, tell
from rayward.cli.target import Target, target_options
from rayward.kube.core.meta import rfc3339
from rayward.sdk import Client

_COLUMNS = ("TIME", "OBJECT", "WHAT", "TEXT", "BY")
_LONGEST = 160
_LAST_LINES = 5


@click.command("timeline")
@click.argument("words", nargs=-1, required=True, metavar="KIND/NAME", shell_complete=complete_objects)
@click.option("--since", type=DurationType(), default=0.0, help="Only entries of the last 30m, 2h... (default: all).")
@click.option(
    "--recorder",
    metavar="NS:PORT",
    envvar="RAYWARD_RECORDER",
    help=f"Namespace and port of the operator that recorded it (default: {DEFAULT}).",
)
@click.option(
    "-o", "--output", "form", type=click.Choice(["table", "json", "html"]), default="table", help="Output format."
)
@target_options
def command(words: tuple[str, ...], since: float, recorder: str | None, form: str, target: Target) -> int:
    """Show what happened to an object and what belongs to it, also after it is gone.

    \b
    Examples:
      rayward timeline rayservice/shop --since 2h
      rayward timeline rayservice/shop -o html > shop.html
    """  # noqa: D301
    with changing(target) as (client, session):
        ref = ref_of(words, session)
        folder = folder_of(target.data).timeline
        store = Store(folder) if session.local and folder.is_dir() else _recorded(client, ref, recorder)
        found = client.timeline(ref, store)
    first, told = begins(store, found)
    if since:
        earliest = rfc3339(datetime.now(UTC) - timedelta(seconds=since))
        found = tuple(one for one in found if one.at >= earliest)
    if form == "html":
        answer(page(f"{ref} in {ref.namespace}", found, told))
    elif form == "json":
        items = [msgspec.to_builtins(one) for one in found]
        answer_json(
            {"apiVersion": "cli.rayward/v1", "kind": "Timeline", "object": str(ref), "since": first, "items": items}
        )
    else:
        for line in table(found):
            answer(line)
        tell(told)
    return 0


def begins(store: Store | Recorded | None, found: Sequence[Entry]) -> tuple[str | None, str]:
    """Since when something would be known, and in words; of what happened before, the list has no more than traces."""
    if isinstance(store, Recorded):
        kept = "on disk" if store.durable else "in memory, which ends with its process"
        return store.since, f"recorded by the operator since {store.since}, {kept}"
    if store is not None and (since := store.since) is not None:
        return since, f"recorded by the local stack since {since}, on disk"
    if found:
        return found[0].at, f"no recording was found: showing what the API server still has, since {found[0].at}"
    return None, "no recording was found, and the API server has no events"


def table(found: Sequence[Entry]) -> Iterator[str]:
    """A line for each entry; below an edit what it changed, and below the end of a container its last lines."""
    heading, *lines = lay_out(Grid(_COLUMNS, tuple(map(_row, found))))
    yield heading
    for one, line in zip(found, lines, strict=True):
        yield line
        more = one.detail.splitlines()
        shown = more if one.what == "spec" else more[-_LAST_LINES:] if one.what == "pod" else []
        yield from (f"    {text[:_LONGEST]}" for text in shown)


def _recorded(client: Client, ref: Ref, recorder: str | None) -> Recorded | None:
    """What the cluster's operator recorded; None where nobody named a recorder and there is none to be asked."""
    try:
        return client.recorded(ref, recorder or DEFAULT)
    except (NotFound, Forbidden, Unavailable):
        if recorder:
            raise
        return None


def _row(one: Entry) -> tuple[str, ...]:
    text = one.text if len(one.text) <= _LONGEST else f"{one.text[: _LONGEST - 3]}..."
    return (one.at, f"{one.kind.lower()}/{one.name}", one.what, text.replace("\n", " "), one.by)
