"""Rights, as roles of ``rbac.authorization.k8s.io`` give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object

READ = ("get", "list", "watch")
OWN = (*READ, "create", "patch", "delete")

_ORDER = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True)
class PolicyRule:
    """Verbs on resources of one API group; a subresource is ``plural/name``."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


def rule(verbs: Iterable[str], *resources: Resource, subresource: str = "") -> PolicyRule:
    """The right to do ``verbs`` on resources, or on a subresource of each; all of one group."""
    ending = f"/{subresource}" if subresource else ""
    (group,) = {resource.group for resource in resources}
    return PolicyRule(group, tuple(resource.plural + ending for resource in resources), tuple(verbs))


def merged(rules: Iterable[PolicyRule]) -> list[Object]:
    """The rules of a Role that gives all of ``rules`` and no more: each resource once, like ones together."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for each in rules:
        for resource in each.resources:
            verbs.setdefault((each.group, resource), set()).update(each.verbs)
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), found in sorted(verbs.items()):
        together.setdefault((group, tuple(sorted(found, key=_rank))), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(found)}
        for (group, found), resources in together.items()
    ]


def _rank(verb: str) -> tuple[int, str]:
    return (_ORDER.index(verb) if verb in _ORDER else len(_ORDER), verb)
