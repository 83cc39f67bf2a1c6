"""What the server serves, from its discovery documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request
from rayward.kube.core.resource import Resource
from rayward.net.errors import ProtocolError

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


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
            found.extend(read_groups(await client.send(Request("GET", path, accept=_AGGREGATED, repeatable=True))))
        self.replace(found)


class _Kind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str = ""
    verbs: tuple[str, ...] = ()
    response_kind: _Kind | None = None


class _Version(msgspec.Struct, rename="camel"):
    version: str
    resources: tuple[_Resource, ...] = ()


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Group(msgspec.Struct):
    metadata: _Name = _Name()
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct):
    items: tuple[_Group, ...] = ()


def read_groups(document: dict[str, Any]) -> list[Served]:
    """The collections in an aggregated discovery document; of several versions the first, which is preferred.

    Raises:
        ProtocolError: It is another document: taken for this one, it would say that nothing is served.
    """
    if document.get("kind") != "APIGroupDiscoveryList":
        raise ProtocolError(f"the server has no aggregated discovery: it answered {document.get('kind')}")
    found: dict[tuple[str, str], Served] = {}
    for group in msgspec.convert(document, _Groups).items:
        for version in group.versions:
            for entry in version.resources:
                place = (group.metadata.name, entry.resource)
                if entry.response_kind is None or place in found:
                    continue
                kind, namespaced = entry.response_kind.kind, entry.scope == "Namespaced"
                resource = Resource(group.metadata.name, version.version, entry.resource, kind, namespaced)
                found[place] = Served(resource, frozenset(entry.verbs))
    return list(found.values())
