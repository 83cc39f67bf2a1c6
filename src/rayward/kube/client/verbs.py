"""Requests for the verbs of the API."""

from __future__ import annotations

from typing import Any, Final, Protocol, Unpack, runtime_checkable

import msgspec
import orjson

from rayward.kube.client.options import (
    DeleteCollectionOptions,
    DeleteOptions,
    FieldValidation,
    GetOptions,
    ListOptions,
    PatchOptions,
    PatchType,
    WatchOptions,
    WriteOptions,
    delete_body,
    query,
)
from rayward.kube.client.paths import collection_path, home_path, object_path
from rayward.kube.client.request import JSON, Request
from rayward.kube.client.values import as_dict
from rayward.kube.core.resource import PODS, SERVICE_ACCOUNTS, Resource
from rayward.kube.machinery.jsonvalue import Object

SILENCE_SECONDS: Final = 70.0
"""API servers send bookmarks about every minute: longer silence means that nobody is there any more."""


@runtime_checkable
class HasDict(Protocol):
    """An object of another client library."""

    def to_dict(self) -> dict[str, Any]:
        """The object as JSON values."""
        ...


Body = Object | list[Any] | bytes | msgspec.Struct | HasDict


def get(
    resource: Resource,
    name: str,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    accept: str = JSON,
    **options: Unpack[GetOptions],
) -> Request:
    target = object_path(resource, namespace, name, subresource) + query(options)
    return Request("GET", target, accept=accept, repeatable=True)


def list_(
    resource: Resource, namespace: str | None = None, *, accept: str = JSON, **options: Unpack[ListOptions]
) -> Request:
    """Read a collection, or a page of it."""
    target = collection_path(resource, namespace) + query(options)
    return Request("GET", target, accept=accept, repeatable=True)


def watch(
    resource: Resource,
    namespace: str | None = None,
    *,
    accept: str = JSON,
    silence_seconds: float = SILENCE_SECONDS,
    **options: Unpack[WatchOptions],
) -> Request:
    target = collection_path(resource, namespace) + query(options, watch="true")
    return Request("GET", target, accept=accept, repeatable=True, seconds=silence_seconds)


def create(
    resource: Resource,
    body: Body,
    namespace: str | None = None,
    *,
    name: str | None = None,
    subresource: str | None = None,
    **options: Unpack[WriteOptions],
) -> Request:
    """Make an object, or post to a subresource (``binding``, ``eviction``, ``token``) of ``name``."""
    namespace = namespace or _metadata(body).get("namespace")
    path = object_path(resource, namespace, name, subresource) if name else home_path(resource, namespace)
    return Request("POST", path + query(options), encode(body))


def update(
    resource: Resource,
    body: Body,
    name: str | None = None,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    **options: Unpack[WriteOptions],
) -> Request:
    """Replace an object; name and namespace come from its metadata unless given."""
    metadata = _metadata(body)
    path = object_path(resource, namespace or metadata.get("namespace"), name or metadata.get("name", ""), subresource)
    return Request("PUT", path + query(options), encode(body))


def patch(
    resource: Resource,
    name: str,
    body: Body,
    kind: PatchType,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    **options: Unpack[PatchOptions],
) -> Request:
    """Change an object; server-side apply may be repeated, the others may not."""
    target = object_path(resource, namespace, name, subresource) + query(options)
    return Request("PATCH", target, encode(body), content_type=kind.value, repeatable=kind is PatchType.APPLY)


def delete(resource: Resource, name: str, namespace: str | None = None, **options: Unpack[DeleteOptions]) -> Request:
    return Request("DELETE", object_path(resource, namespace, name), delete_body(options))


def delete_collection(
    resource: Resource, namespace: str | None = None, **options: Unpack[DeleteCollectionOptions]
) -> Request:
    """Delete every object that the selectors match."""
    selectors = {name: options.get(name) for name in ("label_selector", "field_selector")}
    return Request("DELETE", home_path(resource, namespace) + query(selectors), delete_body(options))


def apply(
    resource: Resource,
    body: Object,
    field_manager: str,
    force: bool = False,
    subresource: str | None = None,
    dry_run: bool = False,
    field_validation: FieldValidation | None = None,
) -> Request:
    """Server-side apply of a whole intent; it names its object itself."""
    metadata = _metadata(body)
    name, namespace = metadata.get("name", ""), metadata.get("namespace")
    options = PatchOptions(field_manager=field_manager, force=force, dry_run=dry_run)
    if field_validation is not None:
        options["field_validation"] = field_validation
    return patch(resource, name, body, PatchType.APPLY, namespace, subresource=subresource, **options)


def scale(resource: Resource, name: str, replicas: int, namespace: str | None = None) -> Request:
    """Set the replicas of an object that has a scale."""
    body = {"spec": {"replicas": replicas}}
    return patch(resource, name, body, PatchType.MERGE, namespace, subresource="scale")


def evict(name: str, namespace: str, grace_period_seconds: int | None = None) -> Request:
    """Delete a pod unless a disruption budget is against it."""
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    if grace_period_seconds is not None:
        body["deleteOptions"] = {"gracePeriodSeconds": grace_period_seconds}
    return create(PODS, body, namespace, name=name, subresource="eviction")


def bind(name: str, namespace: str, node: str) -> Request:
    """Give a pod to a node."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return create(PODS, body, namespace, name=name, subresource="binding")


def token(account: str, namespace: str, spec: Object) -> Request:
    """A token of a service account."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return create(SERVICE_ACCOUNTS, body, namespace, name=account, subresource="token")


def encode(body: Body) -> bytes:
    """A body as JSON."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, dict):
        # Nearly all are; to ask for a protocol takes longer than to encode.
        return orjson.dumps(body)
    if isinstance(body, msgspec.Struct):
        return msgspec.json.encode(body)
    if isinstance(body, HasDict):
        return orjson.dumps(body.to_dict())
    return orjson.dumps(body)


def _metadata(body: Body) -> dict[str, Any]:
    return as_dict(body.get("metadata")) if isinstance(body, dict) else {}
