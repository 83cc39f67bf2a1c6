"""The policies and bindings that are stored, applied to every request that they match."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from rayward.kube.machinery.jsonvalue import entries, section
from rayward.kube.machinery.selectors import labels
from rayward.local.apiserver import status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.policies.policy import Decision, Policy, policy_of
from rayward.local.apiserver.rbac import expressions
from rayward.local.apiserver.webhooks import review
from rayward.local.apiserver.webhooks.matching import Matching, matching_of
from rayward.local.store import Event, Store

if TYPE_CHECKING:
    from rayward.local.apiserver.attributes import Attributes
    from rayward.local.apiserver.core import Core

_log = logging.getLogger(__name__)
_POLICIES = "/validatingadmissionpolicies.admissionregistration.k8s.io/"
_BINDINGS = "/validatingadmissionpolicybindings.admissionregistration.k8s.io/"
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class _ConfigurationError(Exception):
    """A policy and its binding do not go together."""


@dataclass(frozen=True, slots=True)
class Binding:
    name: str
    policy: str
    param_ref: Object | None
    matching: Matching
    actions: tuple[str, ...]


def binding_of(obj: Object) -> Binding:
    spec = section(obj, "spec")
    matching = matching_of(section(spec, "matchResources"), "resourceRules", any_resource=True)
    actions = tuple(entries(spec, "validationActions"))
    return Binding(obj["metadata"]["name"], spec["policyName"], spec.get("paramRef"), matching, actions)


class Policies:
    """All policies with their bindings, kept in step with the stored ones; expressions are compiled once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._compiled: dict[str, tuple[int, Policy]] = {}
        self._bound: list[tuple[Policy, list[Binding]]] = []
        self._reload()

    def on_commit(self, events: Sequence[Event]) -> None:
        """Follow changes of policies and bindings."""
        if any(event.key.startswith((_POLICIES, _BINDINGS)) for event in events):
            self._reload()

    def _reload(self) -> None:
        bindings: dict[str, list[Binding]] = {}
        for key in self._store.keys(_BINDINGS):
            record = self._store.get(key)
            if record is not None:
                binding = binding_of(orjson.loads(record.value))
                bindings.setdefault(binding.policy, []).append(binding)
        compiled: dict[str, tuple[int, Policy]] = {}
        for key in self._store.keys(_POLICIES):
            record = self._store.get(key)
            if record is not None:
                known = self._compiled.get(key)
                fresh = known is not None and known[0] == record.revision
                compiled[key] = known if known and fresh else (record.revision, policy_of(orjson.loads(record.value)))
        self._compiled = compiled
        self._bound = [(each, bindings[each.name]) for _, each in compiled.values() if each.name in bindings]

    def check(self, core: Core, attributes: Attributes, warnings: list[str]) -> None:
        """Refuse what a policy refuses, and warn of what it only warns of."""
        if not self._bound:
            return
        denied: list[tuple[Policy, Binding, Decision]] = []
        for policy, bindings in self._bound:
            seen = policy.matching.sees(attributes, core.registry, self._namespace_labels)
            if seen is None:
                continue
            for binding in bindings:
                if binding.matching.sees(attributes, core.registry, self._namespace_labels) is None:
                    continue
                for decision in self._decisions(core, policy, binding, seen):
                    if decision.always or "Deny" in binding.actions:
                        denied.append((policy, binding, decision))
                    if decision.always:
                        continue
                    if "Warn" in binding.actions:
                        text = f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding"
                        warnings.append(f"{text} '{binding.name}': {decision.message}")
                    if "Audit" in binding.actions:
                        _log.info("audit: policy %s, binding %s: %s", policy.name, binding.name, decision.message)
        if denied:
            raise _refusal(attributes, *denied[0])

    def _decisions(self, core: Core, policy: Policy, binding: Binding, seen: Attributes) -> list[Decision]:
        try:
            params = self._params(core, policy, binding, seen.namespace)
        except _ConfigurationError as error:
            return [Decision(f"failed to configure binding: {error}", always=True)] if policy.fails_closed else []
        found: list[Decision] = []
        access = expressions.variables(core.authorizer, seen)
        request = {key: value for key, value in review.request_of(seen, "").items() if key not in _BESIDE}
        for param in params:
            inputs: Mapping[str, Any] = {
                "object": seen.obj,
                "oldObject": seen.old,
                "request": request,
                "params": param,
                "namespaceObject": self._namespace(seen),
                **access,
            }
            decisions, annotations = policy.decide(inputs)
            found += decisions
            for key, value in annotations.items():
                _log.info("audit: %s/%s: %s", policy.name, key, value)
        return found

    def _params(self, core: Core, policy: Policy, binding: Binding, namespace: str) -> list[Object | None]:
        kind, ref = policy.param_kind, binding.param_ref
        if kind is None or ref is None:
            return [None]
        group, _, version = kind["apiVersion"].rpartition("/")
        resource = core.registry.of_kind(group, version, kind["kind"])
        if resource is None:
            raise _ConfigurationError(f"paramKind kind `{kind['apiVersion']}, Kind={kind['kind']}` not known")
        wanted = ref.get("namespace") or ""
        if wanted and not resource.namespaced:
            raise _ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        place = wanted or namespace
        if resource.namespaced and not place:
            text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise _ConfigurationError(text)
        found: list[Object | None] = []
        if ref.get("name"):
            live = core.objects.newest(resource, place, ref["name"])
            found = [live.value] if live is not None else []
        else:
            selector = labels.from_object(ref.get("selector") or {})
            for key in self._store.keys(resource.scope(place if resource.namespaced else "")):
                record = self._store.newest(key)
                obj = core.objects.decode(resource, record) if record is not None else None
                if obj is not None and selector.matches(section(obj["metadata"], "labels")):
                    found.append(obj)
        if not found and ref.get("parameterNotFoundAction") == "Deny":
            raise _ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return found

    def _namespace(self, attributes: Attributes) -> Object | None:
        if attributes.resource.qualified_name == "namespaces" or not attributes.namespace:
            return None
        record = self._store.newest(f"/namespaces/{attributes.namespace}")
        return orjson.loads(record.value) if record is not None else None

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        record = self._store.newest(f"/namespaces/{namespace}")
        return (orjson.loads(record.value)["metadata"].get("labels") or {}) if record is not None else {}


_BESIDE = frozenset({"object", "oldObject", "uid"})


def _refusal(attributes: Attributes, policy: Policy, binding: Binding, decision: Decision) -> status.ApiError:
    text = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}' denied request: {decision.message}"
    error = status.forbidden(attributes.resource, attributes.name, text)
    error.reason = decision.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": text}]}
    return error
