"""Which rules apply to which kinds: the one place where the server's parts learn of each other."""

from __future__ import annotations

from dataclasses import replace

from rayward.kube.machinery import names
from rayward.local.apiserver.admission import Admission
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.crd import definition
from rayward.local.apiserver.crd.custom import published_schema
from rayward.local.apiserver.hub import Hub
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.resource import Resource
from rayward.local.store import Store

_DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def admission(store: Store, hub: Hub) -> Admission:
    """The admission chain of this server."""
    return Admission()


def serve_definitions(registry: Registry) -> Resource:
    """Give CustomResourceDefinitions their rules; the recorded structure alone has none."""
    plain = registry.find(*_DEFINITIONS)
    assert plain is not None
    behaviour = replace(
        plain.behaviour,
        prepare_create=definition.prepare_create,
        prepare_update=definition.prepare_update,
        prepare_status=definition.prepare_status,
        validate=definition.validate,
        validate_update=definition.validate_update,
        check_name=names.subdomain_name,
        has_status=True,
        counts_generation=True,
        needs_resource_version=True,
    )
    resource = replace(plain, behaviour=behaviour)
    registry.add(resource)
    return resource


def schema_of(resource: Resource) -> Object | None:
    """The published structure of a custom resource; None: the recorded one of a built-in kind."""
    return published_schema(resource)
