"""Policy rules of roles: what one allows, and whether some cover others.

A rule is for resources (groups, resources, names) or for URLs that are no resources; `*` stands for everything, and
`*/sub` for a subresource of whatever resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rayward.kube.machinery.gotext import quoted
from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver.rbac.access import Access

_ALL: Final = "*"
# What a rule stands for is its verbs times its resources times its names: a small body may mean billions.
_MOST_ATOMS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The only objects it is for; empty: all."""
    urls: tuple[str, ...] = ()

    @classmethod
    def from_object(cls, rule: Object) -> Rule:
        """The rule as it is written in a role."""
        fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(rule.get(field) or ()) for field in fields))

    def to_object(self) -> Object:
        """The rule as a role has it."""
        fields = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {field: list(values) for field, values in fields.items() if values}

    def allows(self, access: Access) -> bool:
        """Whether it permits this, names included."""
        return self.matches(access) and (not access.of_resource or not self.names or access.name in self.names)

    def matches(self, access: Access) -> bool:
        """Whether it permits this for at least some names."""
        if _ALL not in self.verbs and access.verb not in self.verbs:
            return False
        if not access.of_resource:
            return any(_url_covers(url, access.path) for url in self.urls)
        if _ALL not in self.groups and access.group not in self.groups:
            return False
        return (
            _ALL in self.resources
            or access.part in self.resources
            or (bool(access.subresource) and f"*/{access.subresource}" in self.resources)
        )

    def covers(self, other: Rule) -> bool:
        """Whether it permits all that the other does; the other is an atom of ``atoms``."""
        return (
            (_ALL in self.verbs or set(other.verbs) <= set(self.verbs))
            and (_ALL in self.groups or set(other.groups) <= set(self.groups))
            and all(self._covers_resource(resource) for resource in other.resources)
            and (not self.names or (bool(other.names) and set(other.names) <= set(self.names)))
            and all(any(_url_covers(own, url) for own in self.urls) for url in other.urls)
        )

    def _covers_resource(self, resource: str) -> bool:
        if _ALL in self.resources or resource in self.resources:
            return True
        _, slash, subresource = resource.partition("/")
        return bool(slash) and f"*/{subresource}" in self.resources

    def atoms(self) -> Iterator[Rule]:
        """The same as rules of one verb, one resource and one name each."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    for names in [(name,) for name in self.names] or [()]:
                        yield Rule((verb,), (group,), (resource,), names)
        for url in self.urls:
            for verb in self.verbs:
                yield Rule((verb,), urls=(url,))

    @property
    def size(self) -> int:
        """How many atoms there are."""
        of_resources = len(self.groups) * len(self.resources) * (len(self.names) or 1)
        return len(self.verbs) * (of_resources + len(self.urls))

    def __str__(self) -> str:
        """The rule as Kubernetes writes it into refusals."""
        shown = {
            "APIGroups": self.groups,
            "Resources": self.resources,
            "NonResourceURLs": self.urls,
            "ResourceNames": self.names,
            "Verbs": self.verbs,
        }
        return "{" + ", ".join(f"{field}:{go_list(values)}" for field, values in shown.items() if values) + "}"


def go_list(texts: Iterable[str]) -> str:
    """Strings as Go's %q shows a slice of them."""
    return "[" + " ".join(map(quoted, texts)) + "]"


def _url_covers(own: str, url: str) -> bool:
    return own == url or (own.endswith(_ALL) and url.startswith(own.rstrip(_ALL)))


def missing(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The atoms of the wanted rules that no owned one covers; rules that stand for too many are lacking as they are."""
    lacking: list[Rule] = []
    left = _MOST_ATOMS
    for rule in wanted:
        left -= 1
        plain = not (rule.urls and (rule.resources or rule.names))
        if plain and left > 0 and any(own.covers(rule) for own in owned):
            continue
        if (size := rule.size) > left:
            lacking.append(rule)
            continue
        left -= size
        lacking += [atom for atom in rule.atoms() if not any(own.covers(atom) for own in owned)]
    return lacking


def compact(atoms: Iterable[Rule]) -> list[Rule]:
    """Atoms of one resource and name as one rule with all their verbs."""
    rest: list[Rule] = []
    simple: dict[tuple[str, str, tuple[str, ...]], Rule] = {}
    for atom in atoms:
        if atom.urls or len(atom.names) > 1 or len(atom.groups) != 1 or len(atom.resources) != 1:
            rest.append(atom)
            continue
        key = (atom.groups[0], atom.resources[0], atom.names)
        known = simple.get(key)
        simple[key] = atom if known is None else replace(known, verbs=known.verbs + atom.verbs)
    return [*rest, *simple.values()]
