"""Completion of ``KIND/NAME`` in a shell, from the server that the command is about."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

_KINDS = ("rayservice/", "raycluster/", "rayjob/")
_MOST = 500


def complete_objects(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds, then names of that kind; nothing where the server does not answer, for a shell must not be disturbed."""
    kind, slash, start = incomplete.partition("/")
    if not slash:
        return [CompletionItem(one, type="nospace") for one in _KINDS if one.startswith(incomplete)]
    names: list[str] = []
    with contextlib.suppress(Exception):
        names = _names(ctx, kind)
    return [CompletionItem(f"{kind}/{name}") for name in names if name.startswith(start)]


def _names(ctx: click.Context, kind: str) -> list[str]:
    from rayward.changes.refs import RESOURCES, kind_of
    from rayward.cli.target import Target

    def given(name: str) -> Any:
        return ctx.params.get(name) or ctx.find_root().params.get(name)

    data, file = given("data"), given("kubeconfig")
    target = Target(Path(file) if file else None, given("context"), given("namespace"), Path(data) if data else None)
    resource = RESOURCES[kind_of(kind)]
    with target.open() as session:
        found = session.client.page(resource, session.namespace, limit=_MOST)
    return [str(one["metadata"]["name"]) for one in found.items]
