"""The kinds that a server has, found by whatever name users know them by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rayward.cli.failure import Code, CommandError
from rayward.kube.client.discovery import AGGREGATED, Discovered, discovered
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import Resource


class Kind(msgspec.Struct, frozen=True):
    """A collection, its names, and what can be done with it."""

    resource: Resource
    names: frozenset[str]
    """Plural, singular and short names, in lower case."""
    categories: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """How kubectl names the kind before a slash: ``pod``, ``raycluster.ray.io``."""
        kind, group = self.resource.kind.lower(), self.resource.group
        return f"{kind}.{group}" if group else kind


class Catalogue:
    """All kinds of a server, the preferred version of each first."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)

    def find(self, word: str) -> Kind:
        """The kind that a user means by ``po``, ``pods``, ``Pod``, ``raycluster.ray.io`` or ``deployments.v1.apps``.

        Raises:
            CommandError: There is none.
        """
        name, _, rest = word.lower().partition(".")
        for kind in self._kinds:
            resource = kind.resource
            places = ("", resource.group, f"{resource.version}.{resource.group}".rstrip("."))
            if name in kind.names and rest in places:
                return kind
        what = f'the server doesn\'t have a resource type "{word}"'
        known = "rayward get crds   # shows the kinds that were added to this server"
        raise CommandError(Code.NOT_FOUND, what, _near(name, self._kinds), known)

    def all_of(self, word: str) -> list[Kind]:
        """The kinds that a word stands for: one, or those of a category such as ``all``."""
        group = [kind for kind in self._kinds if word.lower() in kind.categories and "list" in kind.verbs]
        return list({(kind.resource.group, kind.resource.plural): kind for kind in reversed(group)}.values())[::-1] or [
            self.find(word)
        ]

    def of(self, api_version: str, kind: str) -> Kind | None:
        """The kind that an object says it is."""
        for found in self._kinds:
            if (found.resource.api_version, found.resource.kind) == (api_version, kind):
                return found
        return None

    def kinds_of(self, api_version: str) -> list[str]:
        """The kinds of one version of a group."""
        return sorted({kind.resource.kind for kind in self._kinds if kind.resource.api_version == api_version})


def _near(name: str, kinds: Iterable[Kind]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, {known for kind in kinds for known in kind.names}, n=3)
    return f"names like it: {', '.join(sorted(near))}" if near else ""


def read_catalogue(client: SyncClient) -> Catalogue:
    """Ask a server what it has."""
    found: list[Kind] = []
    for path in ("/api", "/apis"):
        found.extend(kinds_in(client.send(Request("GET", path, accept=AGGREGATED, repeatable=True))))
    return Catalogue(found)


def kinds_in(document: dict[str, Any]) -> list[Kind]:
    """The kinds in an aggregated discovery document.

    Raises:
        ProtocolError: It is another document.
    """
    return [_kind(found) for found in discovered(document)]


def _kind(found: Discovered) -> Kind:
    resource, lower = found.resource, found.resource.kind.lower()
    names = frozenset({resource.plural, found.singular or lower, lower, *found.short_names})
    return Kind(resource, names, found.categories, found.verbs)
