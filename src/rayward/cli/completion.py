"""Completion of kinds and names in a shell, from the server that the command is about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from rayward.cli.target import Session
    from rayward.kube.core.resource import Resource

_RAY: Final = ("rayservice/", "raycluster/", "rayjob/")
_ANY: Final = (*_RAY, "pod/", "service/")
_MOST: Final = 500

Find = Callable[["Session", str], "Resource"]


def complete_objects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """``KIND/NAME`` and ``KIND NAME`` of Ray's kinds; nothing where the server does not answer: a shell must go on."""
    return _complete(ctx, param, incomplete, _RAY, _of_ray)


def complete_any(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same of every kind that the server has."""
    return _complete(ctx, param, incomplete, _ANY, _of_server)


def complete_pods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of pods, and ``KIND/NAME`` of whatever has pods."""
    named = [] if "/" in incomplete else _names(ctx, "pods", _of_server)
    found = [CompletionItem(name) for name in named if name.startswith(incomplete)]
    return found + complete_any(ctx, param, incomplete)


def complete_jobs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of RayJobs."""
    return [CompletionItem(name) for name in _names(ctx, "rayjob", _of_ray) if name.startswith(incomplete)]


def _complete(
    ctx: click.Context, param: click.Parameter, incomplete: str, kinds: tuple[str, ...], find: Find
) -> list[CompletionItem]:
    given: Any = ctx.params.get(str(param.name))
    before: list[str] = [] if isinstance(given, str) else list(given or ())
    kind, slash, start = incomplete.partition("/")
    if slash:
        return [CompletionItem(f"{kind}/{name}") for name in _names(ctx, kind, find) if name.startswith(start)]
    if before and "/" not in before[0]:
        return [CompletionItem(name) for name in _names(ctx, before[0], find) if name.startswith(incomplete)]
    return [CompletionItem(one, type="nospace") for one in kinds if one.startswith(incomplete)]


def _of_ray(session: Session, word: str) -> Resource:
    from rayward.changes.refs import RESOURCES, kind_of

    return RESOURCES[kind_of(word)]


def _of_server(session: Session, word: str) -> Resource:
    from rayward.cli.catalogue import read_catalogue

    return read_catalogue(session.client).find(word).resource


def _names(ctx: click.Context, word: str, find: Find) -> list[str]:
    with contextlib.suppress(Exception), _session(ctx) as session:
        resource = find(session, word)
        found = session.client.page(resource, session.namespace if resource.namespaced else None, limit=_MOST)
        return [str(one["metadata"]["name"]) for one in found.items]
    return []


@contextmanager
def _session(ctx: click.Context) -> Generator[Session]:
    from rayward.cli.target import Target

    def given(name: str) -> Any:
        return ctx.params.get(name) or ctx.find_root().params.get(name)

    data, file = given("data"), given("kubeconfig")
    target = Target(Path(file) if file else None, given("context"), given("namespace"), Path(data) if data else None)
    with target.open() as session:
        yield session
