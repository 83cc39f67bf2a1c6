"""What a server serves, from its aggregated discovery document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from rayward.kube.core.resource import Resource
from rayward.net.errors import ProtocolError

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
"""What to accept at ``/api`` and ``/apis``."""


class Discovered(msgspec.Struct, frozen=True):
    """A collection, its names, and what can be done with it."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...]
    categories: frozenset[str]
    verbs: frozenset[str]


class _Kind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str = ""
    singular_resource: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    response_kind: _Kind | None = None


class _Version(msgspec.Struct):
    version: str
    resources: tuple[_Resource, ...] = ()


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Group(msgspec.Struct):
    metadata: _Name = _Name()
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct):
    items: tuple[_Group, ...] = ()


def discovered(document: dict[str, Any]) -> Iterator[Discovered]:
    """The collections in the order of the document, in which a group's preferred version comes first.

    Raises:
        ProtocolError: It is another document: taken for this one, it would say that nothing is served.
    """
    if document.get("kind") != "APIGroupDiscoveryList":
        raise ProtocolError(f"the server has no aggregated discovery: it answered {document.get('kind')}")
    for group in msgspec.convert(document, _Groups).items:
        for version in group.versions:
            for entry in version.resources:
                if entry.response_kind is None:
                    continue
                kind, namespaced = entry.response_kind.kind, entry.scope == "Namespaced"
                yield Discovered(
                    Resource(group.metadata.name, version.version, entry.resource, kind, namespaced),
                    entry.singular_resource,
                    entry.short_names,
                    frozenset(entry.categories),
                    frozenset(entry.verbs),
                )
