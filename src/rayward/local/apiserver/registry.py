"""Which resources are served now. CRDs change it while the server runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rayward.local.apiserver.resource import Resource

_Key = tuple[str, str, str]


class Registry:
    """The table that paths are resolved against."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._resources: dict[_Key, Resource] = {}
        self._by_kind: dict[tuple[str, str, str], Resource] = {}
        self.generation = 0
        """Rises with every change, so that documents made from the table can be cached."""
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource, in place of one of the same name."""
        self._resources[resource.group, resource.version, resource.plural] = resource
        self._by_kind[resource.group, resource.version, resource.kind] = resource
        self.generation += 1

    def remove(self, group: str, version: str, plural: str) -> None:
        """Serve it no more."""
        gone = self._resources.pop((group, version, plural), None)
        if gone is not None:
            self._by_kind.pop((group, version, gone.kind), None)
            self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at a place in the path grammar."""
        return self._resources.get((group, version, plural))

    def of_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of an object's apiVersion and kind."""
        return self._by_kind.get((group, version, kind))

    def any_version(self, group: str, plural: str) -> Resource | None:
        """The resource in whichever version is served first."""
        return next((r for r in self._resources.values() if r.group == group and r.plural == plural), None)

    def has_builtin_group(self, group: str) -> bool:
        """Whether the group is one of Kubernetes' own."""
        return any(r.group == group and r.builtin for r in self._resources.values())

    def is_taken(self, group: str, version: str, plural: str) -> bool:
        """Whether a place belongs to one of Kubernetes' own kinds, so that no definition can have it."""
        return any(
            r.builtin and r.group == group and (r.version == version or r.plural == plural)
            for r in self._resources.values()
        )

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())
