"""One webhook of a configuration, and whether it concerns a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel import authorization
from rayward.kube.machinery.selectors import labels
from rayward.local.apiserver.admission import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.webhooks.caller import Endpoint, endpoint_of

_SELF = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})

_VARIABLES = {"object": "dyn", "oldObject": "dyn", "request": "dyn", **authorization.VARIABLES}

NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests that a webhook wants to see."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[str, ...]
    scope: str

    def matches(self, attributes: Attributes) -> bool:
        """Whether a request is of this kind, in whichever version."""
        resource = attributes.resource
        return (
            bool(self.operations & {attributes.operation, "*"})
            and bool(self.groups & {resource.group, "*"})
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


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of a request for its webhook to be asked."""

    name: str
    _program: cel.Program | cel.CompileError

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Whether it is true. Raises EvaluationError, BudgetExceededError or CompileError."""
        if isinstance(self._program, cel.CompileError):
            raise self._program
        value, _cost = self._program.evaluate(variables)
        return value is True


def _condition(declared: Object) -> Condition:
    try:
        return Condition(declared["name"], cel.compile_expression(declared["expression"], _VARIABLES))
    except cel.CompileError as error:
        # stored by a server that understood it: a webhook that cannot be asked must not go unasked unseen
        return Condition(declared["name"], error)


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A webhook, compiled from its configuration."""

    name: str
    endpoint: Endpoint
    rules: tuple[Rule, ...]
    namespace_selector: labels.LabelSelector
    object_selector: labels.LabelSelector
    conditions: tuple[Condition, ...]
    fails_closed: bool
    any_version: bool
    seconds: int
    dry_run_safe: bool
    reinvoked: bool

    def sees(
        self, attributes: Attributes, served: Iterable[Resource], namespace_labels: NamespaceLabels
    ) -> Attributes | None:
        """A request that rules and selectors pick, in the version that they do; match conditions are asked after."""
        if attributes.resource.plural in _SELF:
            return None
        version = self._version(attributes, served)
        if version is None or not self._namespace_matches(attributes, namespace_labels):
            return None
        return attributes.in_version(version) if self._object_matches(attributes) else None

    def _version(self, attributes: Attributes, served: Iterable[Resource]) -> Resource | None:
        """The requested version if a rule knows it, else the first that one knows, if any may do."""
        resource = attributes.resource
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


def _is_equivalent(other: Resource, resource: Resource, subresource: str) -> bool:
    return other.qualified_name == resource.qualified_name and (not subresource or subresource in other.subresources)


def _labels(obj: Object | None) -> Mapping[str, str]:
    return (obj or {}).get("metadata", {}).get("labels") or {}


def hooks_of(configuration: Object) -> list[Hook]:
    """The webhooks of a stored configuration."""
    declared: list[Object] = configuration.get("webhooks") or []
    return [_hook(hook) for hook in declared]


def _hook(hook: Object) -> Hook:
    return Hook(
        name=hook["name"],
        endpoint=endpoint_of(hook.get("clientConfig") or {}),
        rules=tuple(_rule(rule) for rule in hook.get("rules") or ()),
        namespace_selector=labels.from_object(hook.get("namespaceSelector") or {}),
        object_selector=labels.from_object(hook.get("objectSelector") or {}),
        conditions=tuple(_condition(declared) for declared in hook.get("matchConditions") or ()),
        fails_closed=hook.get("failurePolicy", "Fail") != "Ignore",
        any_version=hook.get("matchPolicy", "Equivalent") == "Equivalent",
        seconds=hook.get("timeoutSeconds") or 10,
        dry_run_safe=hook.get("sideEffects") in {"None", "NoneOnDryRun"},
        reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
    )


def _rule(rule: Object) -> Rule:
    def words(field: str) -> frozenset[str]:
        values: list[Any] = rule.get(field) or []
        return frozenset(str(value) for value in values)

    return Rule(
        words("operations"),
        words("apiGroups"),
        words("apiVersions"),
        tuple(rule.get("resources") or ()),
        rule.get("scope") or "*",
    )
