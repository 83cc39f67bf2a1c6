"""Which requests a webhook or a policy is about: rules, what they exclude, and selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery.selectors import labels
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.resource import Resource

_GROUP = "admissionregistration.k8s.io"

NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests that are meant."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[str, ...]
    scope: str
    names: frozenset[str] = frozenset()
    """Of objects; none: all."""

    def matches(self, attributes: Attributes) -> bool:
        """Whether a request is of this kind, in whichever version."""
        resource = attributes.resource
        return (
            bool(self.operations & {attributes.operation, "*"})
            and bool(self.groups & {resource.group, "*"})
            and (not self.names or attributes.name in self.names)
            and self._scope_matches(namespaced=bool(attributes.namespace) and resource.namespaced)
            and any(_resource_matches(pattern, resource.plural, attributes.subresource) for pattern in self.resources)
        )

    def knows(self, version: str) -> bool:
        """Whether it is for requests of this version."""
        return not self.versions.isdisjoint((version, "*"))

    def _scope_matches(self, *, namespaced: bool) -> bool:
        return self.scope == "*" or (self.scope == "Namespaced") == namespaced


def _resource_matches(pattern: str, plural: str, subresource: str) -> bool:
    name, slash, part = pattern.partition("/")
    if name not in {"*", plural}:
        return False
    return part in {"*", subresource} if slash else not subresource


def rule_of(rule: Object) -> Rule:
    def words(field: str) -> frozenset[str]:
        values: list[Any] = rule.get(field) or []
        return frozenset(str(value) for value in values)

    return Rule(
        words("operations"),
        words("apiGroups"),
        words("apiVersions"),
        tuple(rule.get("resources") or ()),
        rule.get("scope") or "*",
        words("resourceNames"),
    )


@dataclass(frozen=True, slots=True)
class Matching:
    """Rules and selectors of one webhook, policy or binding."""

    rules: tuple[Rule, ...]
    namespace_selector: labels.LabelSelector
    object_selector: labels.LabelSelector
    any_version: bool
    excluded: tuple[Rule, ...] = ()
    any_resource: bool = False
    """Without rules everything is meant."""

    def sees(
        self, attributes: Attributes, served: Iterable[Resource], namespace_labels: NamespaceLabels
    ) -> Attributes | None:
        """A request that rules and selectors pick, in the version that they do; match conditions are asked after."""
        if attributes.resource.group == _GROUP:
            # who may say what is allowed is not for webhooks and policies to decide
            return None
        version = self._version(attributes, served)
        if version is None or not self._namespace_matches(attributes, namespace_labels):
            return None
        return attributes.in_version(version) if self._object_matches(attributes) else None

    def _version(self, attributes: Attributes, served: Iterable[Resource]) -> Resource | None:
        """The requested version if a rule knows it, else the first that one knows, if any may do."""
        resource = attributes.resource
        if any(rule.matches(attributes) and rule.knows(resource.version) for rule in self.excluded):
            return None
        if not self.rules and self.any_resource:
            return resource
        rules = [rule for rule in self.rules if rule.matches(attributes)]
        if any(rule.knows(resource.version) for rule in rules):
            return resource
        if not rules or resource.builtin or not self.any_version:
            return None
        others = [other for other in served if _is_equivalent(other, resource, attributes.subresource)]
        return next((other for rule in rules for other in others if rule.knows(other.version)), None)

    def _namespace_matches(self, attributes: Attributes, namespace_labels: NamespaceLabels) -> bool:
        resource = attributes.resource
        if resource.plural == "namespaces" and not resource.group:
            return self.namespace_selector.matches(_labels(attributes.obj or attributes.old))
        if not attributes.namespace:
            return True
        return self.namespace_selector.matches(namespace_labels(attributes.namespace))

    def _object_matches(self, attributes: Attributes) -> bool:
        candidates = [obj for obj in (attributes.obj, attributes.old) if obj is not None]
        return any(self.object_selector.matches(_labels(obj)) for obj in candidates)


def matching_of(declared: Object, rules: str, *, any_resource: bool = False) -> Matching:
    """The matching of a webhook, whose rules are in ``rules``, or of a policy's MatchResources."""
    return Matching(
        rules=tuple(rule_of(rule) for rule in declared.get(rules) or ()),
        namespace_selector=labels.from_object(declared.get("namespaceSelector") or {}),
        object_selector=labels.from_object(declared.get("objectSelector") or {}),
        any_version=declared.get("matchPolicy", "Equivalent") == "Equivalent",
        excluded=tuple(rule_of(rule) for rule in declared.get("excludeResourceRules") or ()),
        any_resource=any_resource,
    )


def _is_equivalent(other: Resource, resource: Resource, subresource: str) -> bool:
    return other.qualified_name == resource.qualified_name and (not subresource or subresource in other.subresources)


def _labels(obj: Object | None) -> Mapping[str, str]:
    return (obj or {}).get("metadata", {}).get("labels") or {}
