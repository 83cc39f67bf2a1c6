"""Which API server and namespace a command is about."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rayward.cli.failure import Code, CommandError
from rayward.cli.output import data_option, folder_of, tell
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.stack import state


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation with one server about one namespace."""

    client: SyncClient
    access: Access
    namespace: str
    where: str
    local: bool
    """Whether the server is the one that ``rayward up`` started here."""

    def say_where(self) -> None:
        """Tell where a change goes, before it goes there."""
        tell(f"→ {self.where}")


@dataclass(frozen=True, slots=True)
class Target:
    """What the user said about the server; what is unset is found."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    data: Path | None = None

    def access(self) -> tuple[Access, str, bool]:
        """How to reach the server, where it is in words, and whether it is our own.

        Raises:
            ConfigError, CommandError: None is there.
        """
        if self.kubeconfig is None and self.context is None:
            folder = folder_of(self.data)
            if folder.kubeconfig.exists() and (state.is_running(folder) or state.unsupervised(folder)):
                return find_access(folder.kubeconfig), f"local ({folder.root})", True
            if self.data is not None:
                following = f"rayward up --data-dir {folder.root}"
                raise CommandError(Code.UNAVAILABLE, f"nothing runs in {folder.root}", "", following)
        access = find_access(self.kubeconfig, self.context)
        named = f"context {self.context}, " if self.context else ""
        return access, f"{named}{access.server}", False

    @property
    def words(self) -> str:
        """What another command needs to be about the same server and namespace, with a space before it."""
        given = (
            ("-n", self.namespace),
            ("--context", self.context),
            ("--kubeconfig", self.kubeconfig),
            ("--data-dir", self.data),
        )
        return "".join(f" {flag} {shlex.quote(str(value))}" for flag, value in given if value)

    @contextmanager
    def open(self) -> Generator[Session]:
        """Talk to the server."""
        access, where, local = self.access()
        with SyncClient.connect(access) as client:
            yield Session(client, access, self.namespace or access.namespace, where, local)


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--kubeconfig``, ``--context``, ``--namespace`` and ``--data-dir``, handed on as one ``target``."""

    @functools.wraps(function)
    def wrapped(
        kubeconfig: Path | None, context: str | None, namespace: str | None, data: Path | None, **others: Any
    ) -> Any:
        before = click.get_current_context().find_root().params
        target = Target(
            kubeconfig or before.get("kubeconfig"),
            context or before.get("context"),
            namespace or before.get("namespace"),
            data,
        )
        return function(target=target, **others)

    file = click.Path(path_type=Path, dir_okay=False)
    for option in (
        click.option("-n", "--namespace", help="Namespace (default: the context's)."),
        click.option("--context", help="Context of the kubeconfig."),
        click.option("--kubeconfig", type=file, help="Path of a kubeconfig (default: the local stack where one runs)."),
        data_option,
    ):
        wrapped = option(wrapped)
    return wrapped
