"""Which rules apply to which kinds: the one place where the server's parts learn of each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from rayward.kube.machinery import names
from rayward.kube.machinery.jsonvalue import section
from rayward.local.addresses import shell_addresses_of
from rayward.local.apiserver import status
from rayward.local.apiserver.admission import AdmissionChain
from rayward.local.apiserver.allocation import Allocation
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.behaviour import Endpoint, Object
from rayward.local.apiserver.builtin import event, node
from rayward.local.apiserver.builtin.claim import strategy as claim
from rayward.local.apiserver.builtin.namespace import prepare_finalize, validate_finalize
from rayward.local.apiserver.builtin.pod import change as podchange
from rayward.local.apiserver.builtin.pod import resize as podresize
from rayward.local.apiserver.builtin.priorityclass import default_conflict
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.crd import definition, formats
from rayward.local.apiserver.crd.custom import published_schema
from rayward.local.apiserver.crd.lifecycle import terminating
from rayward.local.apiserver.hub import Hub
from rayward.local.apiserver.limitranger import LimitRanger
from rayward.local.apiserver.podadmission import PodAdmission
from rayward.local.apiserver.policies import Policies
from rayward.local.apiserver.quota import Quotas
from rayward.local.apiserver.rbac.authorizer import Authorizer
from rayward.local.apiserver.rbac.escalation import EscalationCheck
from rayward.local.apiserver.rbac.policy import RoleIndex
from rayward.local.apiserver.registry import Registry
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.webhooks.caller import Caller
from rayward.local.apiserver.webhooks.dispatch import HttpWebhooks
from rayward.local.store import Store

if TYPE_CHECKING:
    from rayward.net.client import HttpClient

_ALWAYS = 1 << 63
_DEFINITIONS = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def http_client() -> HttpClient:
    """A client of other servers. It is loaded with its first use, so that a start stays quick."""
    from rayward.net import client

    return client.HttpClient()


def caller_of(store: Store) -> Caller:
    """What reaches the programs elsewhere that this server asks."""
    return Caller(http_client, lambda namespace, name, port: service_address(store, namespace, name, port))


def authorizer_of(store: Store, hub: Hub) -> Authorizer:
    """Decides by the stored roles, and follows them."""
    index = RoleIndex()
    index.load(store)
    hub.listen(index.on_commit)
    return Authorizer(index)


def admission(store: Store, hub: Hub, webhooks: HttpWebhooks, quotas: Quotas, authorizer: Authorizer) -> AdmissionChain:
    """The admission chain of this server."""
    escalation = EscalationCheck(authorizer)
    allocation = Allocation(store)
    limits = LimitRanger()
    policies = Policies(store)
    hub.listen(policies.on_commit)
    hub.listen(allocation.on_commit)
    hub.listen(webhooks.on_commit)
    hub.listen(quotas.on_commit)
    return AdmissionChain(
        mutators={
            "pods": PodAdmission(limits).admit,
            "nodes": admit_node,
            "persistentvolumeclaims": admit_claim,
        },
        validators={
            "persistentvolumeclaims": check_claim,
            "priorityclasses.scheduling.k8s.io": check_priority_class,
        },
        allocators={"services": allocation.give},
        limits=limits.check,
        policies=policies.check,
        checks=(quotas.check,),
        webhooks=webhooks,
        guards={
            "roles.rbac.authorization.k8s.io": escalation.check_role,
            "clusterroles.rbac.authorization.k8s.io": escalation.check_role,
            "rolebindings.rbac.authorization.k8s.io": escalation.check_binding,
            "clusterrolebindings.rbac.authorization.k8s.io": escalation.check_binding,
        },
    )


def service_address(store: Store, namespace: str, name: str, port: int) -> str:
    """Where a webhook behind a service is reached: where services answer on this machine, or by its name."""
    record = store.get(f"/services/{namespace}/{name}")
    known = shell_addresses_of(orjson.loads(record.value)) if record is not None else []
    return next((str(one) for one in known if one.port == port), f"{name}.{namespace}.svc:{port}")


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
        warnings=formats.warnings,
        check_name=names.subdomain_name,
        has_status=True,
        counts_generation=True,
        needs_resource_version=True,
        mark=terminating,
    )
    resource = replace(plain, behaviour=behaviour)
    registry.add(resource)
    return resource


def complete_kinds(registry: Registry) -> None:
    """Give built-in kinds what lies between them and the server: subresources that write, and how they go."""
    pods = registry.find("", "v1", "pods")
    namespaces = registry.find("", "v1", "namespaces")
    assert pods is not None
    assert namespaces is not None
    ephemeral = Endpoint(podchange.prepare_ephemeral, podchange.check_ephemeral, counts_generation=True)
    resize = Endpoint(podresize.prepare_resize, podresize.check_resize, counts_generation=True)
    endpoints = {
        "ephemeralcontainers": ephemeral,
        "resize": resize,
        "binding": Endpoint(),
        "eviction": Endpoint(),
    }
    registry.add(replace(pods, behaviour=replace(pods.behaviour, endpoints=endpoints)))
    registry.add(
        replace(
            namespaces,
            behaviour=replace(
                namespaces.behaviour,
                endpoints={"finalize": Endpoint(prepare_finalize, validate_finalize)},
                mark=_terminating,
                held=_holds_content,
            ),
        )
    )


def share_events(registry: Registry) -> None:
    """Events are one kind under two names: what is written in one group is read in the other."""
    new = registry.find("events.k8s.io", "v1", "events")
    assert new is not None
    registry.add(
        replace(
            new,
            stored_as=("", "v1"),
            to_storage=_convert_in_place(event.to_core),
            refresh=event.to_new,
            schema_since=_ALWAYS,
        )
    )


def _convert_in_place(convert: Callable[[Object], Object]) -> Callable[[Object], None]:
    def run(obj: Object) -> None:
        converted = convert(obj)
        obj.clear()
        obj.update(converted)

    return run


def _holds_content(namespace: Object) -> bool:
    return bool(section(namespace, "spec").get("finalizers"))


def _terminating(namespace: Object, now: str) -> Object:
    metadata = {**namespace["metadata"], "deletionTimestamp": now}
    return {**namespace, "metadata": metadata, "status": {**section(namespace, "status"), "phase": "Terminating"}}


def admit_node(_core: Core, attributes: Attributes) -> None:
    """A node takes no pods before its kubelet says that it is ready."""
    if attributes.operation == "CREATE" and attributes.obj is not None:
        node.admit(attributes.obj)


def admit_claim(_core: Core, attributes: Attributes) -> None:
    """A claim is protected while it is used."""
    if attributes.old is None and attributes.obj is not None:
        claim.admit(attributes.obj)


def check_claim(core: Core, attributes: Attributes) -> None:
    """A claim grows only if its storage class lets it."""
    obj, old = attributes.obj, attributes.old
    if obj is None or old is None or attributes.subresource:
        return
    name = section(old, "spec").get("storageClassName") or ""
    record = core.objects.store.newest(f"/storageclasses.storage.k8s.io/{name}") if name else None
    grows = record is not None and bool(orjson.loads(record.value).get("allowVolumeExpansion"))
    why = claim.refuse_growth(obj, old, class_grows=grows)
    if why:
        raise status.forbidden(attributes.resource, attributes.name, why)


def check_priority_class(core: Core, attributes: Attributes) -> None:
    """Only one class is what pods get that ask for none."""
    obj = attributes.obj
    assert obj is not None
    store = core.objects.store
    records = [store.newest(key) for key in store.keys(attributes.resource.prefix)]
    others = [orjson.loads(record.value) for record in records if record is not None]
    why = default_conflict(obj, [other for other in others if other["metadata"]["name"] != attributes.name])
    if why:
        raise status.forbidden(attributes.resource, attributes.name, why)


def schema_of(resource: Resource) -> Object | None:
    """The published structure of a custom resource; None: the recorded one of a built-in kind."""
    return published_schema(resource)
