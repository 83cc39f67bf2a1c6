"""What the commands that change an object share: its name, the answer, and where the change goes."""

from __future__ import annotations

import functools
import getpass
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import click

from rayward.changes.intents import Intent, parse_setting
from rayward.changes.refs import Ref, parse_ref
from rayward.changes.writing import MANAGER, Written
from rayward.cli.durations import DurationType
from rayward.cli.forms import Form, rendered, without_managed
from rayward.cli.live import progress
from rayward.cli.output import answer, tell
from rayward.cli.target import Session, Target
from rayward.sdk import Client


@dataclass(frozen=True, slots=True)
class Waits:
    """How a verb waits for what it asked for."""

    timeout: float
    on_failure: Literal["rollback", "hold"] | None


@contextmanager
def changing(target: Target) -> Generator[tuple[Client, Session]]:
    """The SDK's client for the server that the command is about."""
    with target.open() as session:
        yield Client(session.client, namespace=session.namespace, user=current_user()), session


def ref_of(words: tuple[str, ...], session: Session) -> Ref:
    """The object that a command names."""
    return parse_ref(words, session.namespace)


def show(ref: Ref, done: Written, form: Form | None, *, dry: bool) -> None:
    """Print what a change did."""
    if done.attempts > 1:
        tell(f"others changed the object at the same time: succeeded at attempt {done.attempts}")
    for note in done.notes:
        tell(f"Warning: {note}")
    tell_taken(done)
    if form is None or form.name == "name":
        outcome = "created" if done.before is None else "configured" if done.changed else "unchanged"
        title = f"{ref.kind.lower()}.ray.io/{ref.name}"
        answer(title if form else f"{title} {outcome}{' (server dry run)' if dry else ''}")
        return
    answer(rendered(without_managed(done.object), form))


def tell_taken(done: Written) -> None:
    """Say what a change took from whom; what this tool wrote otherwise, by an undo for one, is nobody else's."""
    for taken in done.taken:
        if taken.manager != MANAGER:
            tell(f"took {taken.field} from {taken.manager}")


def current_user() -> str:
    """Who runs the command, by the name of this machine; kept with the revision."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # a user id without a name
        return ""


def waiting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--wait``, ``--timeout`` and ``--on-failure``, handed on as one ``waits``."""

    @functools.wraps(function)
    def wrapped(wait: bool, timeout: float, on_failure: Literal["rollback", "hold"] | None, **others: Any) -> Any:
        return function(waits=Waits(timeout, on_failure) if wait else None, **others)

    choice = click.Choice(["rollback", "hold"])
    for option in (
        click.option("--on-failure", type=choice, help="Roll a failed change back, or leave it."),
        click.option(
            "--timeout", type=DurationType(), default="10m", help="How long to wait, such as 10m; 0 waits forever."
        ),
        click.option("--wait/--no-wait", default=False, help="Wait until the change is complete."),
    ):
        wrapped = option(wrapped)
    return wrapped


def settle(client: Client, ref: Ref, done: Written, waits: Waits | None) -> None:
    """Wait for what a verb asked for, and show its progress."""
    if waits is None or not done.changed:
        return
    with progress(str(ref)) as say:
        waited = client.settle(done, timeout=waits.timeout, on_failure=waits.on_failure, tell=say)
    tell(f"{ref}: done after {waited.seconds:.0f} s")


def split_settings(words: tuple[str, ...]) -> tuple[tuple[str, ...], list[Intent]]:
    """The words that name an object, and the settings after them."""
    named = tuple(word for word in words if "=" not in word and not word.endswith("-"))
    return named, [parse_setting(word) for word in words if word not in named]
