"""What the commands that change an object share: its name, the answer, and where the change goes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rayward.changes.refs import Ref, parse_ref
from rayward.changes.writing import Written
from rayward.cli.forms import Form, rendered, without_managed
from rayward.cli.output import answer, tell
from rayward.cli.target import Session, Target
from rayward.sdk import Client


@contextmanager
def changing(target: Target) -> Generator[tuple[Client, Session]]:
    """The SDK's client for the server that the command is about."""
    with target.open() as session:
        yield Client(session.client, namespace=session.namespace), session


def ref_of(words: tuple[str, ...], session: Session) -> Ref:
    """The object that a command names."""
    return parse_ref(words, session.namespace)


def show(ref: Ref, done: Written, form: Form | None, *, dry: bool) -> None:
    """Print what a change did."""
    if done.attempts > 1:
        tell(f"others wrote at the same time: done at attempt {done.attempts}")
    for taken in done.taken:
        tell(f"took {taken.field} from {taken.manager}")
    if form is None or form.name == "name":
        outcome = "created" if done.before is None else "configured" if done.changed else "unchanged"
        title = f"{ref.kind.lower()}.ray.io/{ref.name}"
        answer(title if form else f"{title} {outcome}{' (server dry run)' if dry else ''}")
        return
    answer(rendered(without_managed(done.object), form))
