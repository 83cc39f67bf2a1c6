"""What the server serves, from its discovery documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.discovery import AGGREGATED, discovered
from rayward.kube.client.request import Request
from rayward.kube.core.resource import Resource


class Served(msgspec.Struct, frozen=True):
    """A collection and what can be done with it."""

    resource: Resource
    verbs: frozenset[str]

    def can(self, *verbs: str) -> bool:
        """Whether it has all these verbs."""
        return self.verbs.issuperset(verbs)


class Catalogue:
    """The collections of a server, each in the version that it prefers."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str], Served] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}

    def __iter__(self) -> Iterator[Served]:
        return iter(tuple(self._served.values()))

    def of_kind(self, group: str, kind: str) -> Resource | None:
        """The collection of a kind."""
        return self._kinds.get((group, kind))

    def replace(self, served: Iterable[Served]) -> None:
        """These are all there are."""
        self._served = {(found.resource.group, found.resource.plural): found for found in served}
        self._kinds = {(found.resource.group, found.resource.kind): found.resource for found in self._served.values()}

    async def refresh(self, client: Client) -> None:
        """Ask the server again.

        Raises:
            ApiError, NetworkError: It could not be asked; what was known stays.
        """
        found: list[Served] = []
        for path in ("/api", "/apis"):
            found.extend(read_groups(await client.send(Request("GET", path, accept=AGGREGATED, repeatable=True))))
        self.replace(found)


def read_groups(document: dict[str, Any]) -> list[Served]:
    """The collections in an aggregated discovery document; of several versions the first, which is preferred.

    Raises:
        ProtocolError: It is another document.
    """
    served: dict[tuple[str, str], Served] = {}
    for found in discovered(document):
        resource = found.resource
        served.setdefault((resource.group, resource.plural), Served(resource, found.verbs))
    return list(served.values())
