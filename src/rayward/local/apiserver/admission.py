"""Admission: what must hold, and what is filled in, before an object is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import orjson

from rayward.local.apiserver import status
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core, Release
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.resource import Resource
from rayward.local.store import Record

_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


class Webhooks(Protocol):
    """Admission that asks programs elsewhere."""

    def concern(self, served: Registry, attributes: Attributes) -> bool:
        """Whether any webhook wants to see this request."""
        ...

    async def mutate(self, served: Registry, attributes: Attributes, warnings: list[str]) -> Object | None:
        """Let webhooks change the object, if there is one."""
        ...

    async def validate(self, served: Registry, attributes: Attributes, warnings: list[str]) -> None:
        """Let webhooks refuse the request."""
        ...


Mutate = Callable[[Core, Attributes], None]
Check = Callable[[Core, Attributes], None]
Judge = Callable[[Core, Attributes, list[str]], None]
"""A check that can also warn."""


class Allocate(Protocol):
    """Gives an object what only the server can give."""

    def __call__(self, core: Core, obj: Object, old: Object | None, *, dry_run: bool) -> Release:
        """Complete the object in place, or raise ApiError."""
        ...


class AdmissionChain:
    """In order: namespaces, what the kinds need, limits, policies, webhooks, quota."""

    def __init__(
        self,
        *,
        mutators: dict[str, Mutate] | None = None,
        allocators: dict[str, Allocate] | None = None,
        limits: Check | None = None,
        policies: Judge | None = None,
        checks: tuple[Check, ...] = (),
        webhooks: Webhooks | None = None,
        guards: dict[str, Check] | None = None,
        validators: dict[str, Check] | None = None,
    ) -> None:
        self._mutators = mutators or {}
        self._guards = guards or {}
        self._validators = validators or {}
        self._allocators = allocators or {}
        self._limits = limits
        self._policies = policies
        self._checks = checks
        self._webhooks = webhooks

    async def mutate(self, core: Core, attributes: Attributes, warnings: list[str]) -> Object:
        """Complete the object; the result may be another one."""
        obj = attributes.obj
        assert obj is not None
        if attributes.operation == "CREATE":
            check_namespace(core, attributes)
        mutator = self._mutators.get(attributes.resource.qualified_name)
        if mutator is not None and not attributes.subresource:
            mutator(core, attributes)
        if self._webhooks is not None and self._webhooks.concern(core.registry, attributes):
            obj = await self._webhooks.mutate(core.registry, attributes, warnings) or obj
        guard = self._guards.get(attributes.resource.qualified_name)
        if guard is not None and not attributes.subresource:
            guard(core, attributes.with_object(obj))
        return obj

    async def validate(self, core: Core, attributes: Attributes, warnings: list[str]) -> None:
        """Refuse what must not be stored or deleted."""
        if attributes.operation == "DELETE":
            _check_immortal(attributes)
        elif validator := self._validators.get(attributes.resource.qualified_name):
            validator(core, attributes)
        if self._limits is not None:
            self._limits(core, attributes)
        if self._policies is not None:
            self._policies(core, attributes, warnings)
        if self._webhooks is not None and self._webhooks.concern(core.registry, attributes):
            if attributes.operation == "DELETE":
                await self._webhooks.mutate(core.registry, attributes, warnings)
            await self._webhooks.validate(core.registry, attributes, warnings)
        for check in self._checks:
            check(core, attributes)

    def allocate(self, core: Core, resource: Resource, obj: Object, old: Object | None, *, dry_run: bool) -> Release:
        """Give the object what only the server can give, such as a cluster IP."""
        allocator = self._allocators.get(resource.qualified_name)
        return _nothing_given if allocator is None else allocator(core, obj, old, dry_run=dry_run)


_NOBODY = AdmissionChain()


def admitted(core: Core) -> Core:
    """The same server for changes that follow from a request which admission has already seen."""
    return replace(core, admission=_NOBODY)


def _nothing_given() -> None:
    return None


def check_namespace(core: Core, attributes: Attributes) -> None:
    """New objects need a namespace that is there and is not going away."""
    namespace = attributes.namespace
    if not namespace or not attributes.resource.namespaced:
        return
    record = core.objects.store.newest(f"/namespaces/{namespace}")
    if record is None:
        namespaces = core.registry.find("", "v1", "namespaces") or attributes.resource
        raise status.not_found(namespaces, namespace)
    if is_being_deleted(record):
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = status.forbidden(attributes.resource, attributes.name, why)
        error.details = {
            **(error.details or {}),
            "causes": [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        }
        raise error


def is_being_deleted(record: Record) -> bool:
    """Whether a stored object is marked to go."""
    # a label may have this name too, but few objects hold the word at all
    if b'"deletionTimestamp":' not in record.value:
        return False
    return "deletionTimestamp" in orjson.loads(record.value)["metadata"]


def _check_immortal(attributes: Attributes) -> None:
    resource = attributes.resource
    if resource.plural == "namespaces" and not resource.group and attributes.name in _IMMORTAL:
        raise status.forbidden(resource, attributes.name, "this namespace may not be deleted")
