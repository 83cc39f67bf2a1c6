"""OpenAPI v3: one document for each group and version, made from the registry and the recorded structures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from rayward.kube.machinery.jsonvalue import Object, is_list, is_object
from rayward.local.apiserver import recorded
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.options import APPLY, Query
from rayward.local.apiserver.request import Response
from rayward.local.apiserver.resource import Resource, Subresource

_REFERENCE = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_VERSION_PARAMETERS = {
    "string": ("labelSelector", "fieldSelector", "continue", "resourceVersion", "resourceVersionMatch"),
    "boolean": ("allowWatchBookmarks", "watch", "sendInitialEvents"),
    "integer": ("limit", "timeoutSeconds"),
}
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    APPLY,
)


# kubectl asks for the old document about kinds it does not find in the new ones (a List, a kind that is not served) and
# reads it as protobuf only. An empty one, {swagger: "2.0", info: {title, version}, paths: {}}, tells it to go on.
_EMPTY_V2 = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.3\x42\x00"
_VERSION_DOCUMENT: Object = {
    "openapi": "3.0.0",
    "info": {"title": "Kubernetes", "version": "v1.36.3"},
    "paths": {
        "/version/": {
            "get": {
                "operationId": "getCodeVersion",
                "responses": {"200": {"description": "OK", "content": {"application/json": {}}}},
            }
        }
    },
}


class OpenApi:
    """Answers ``/openapi/v3`` and below; documents are kept until the registry changes."""

    def __init__(self, schema_of: Callable[[Resource], Object | None]) -> None:
        self._schema_of = schema_of
        self._generation = -1
        self._documents: dict[str, bytes] = {}

    async def __call__(
        self, core: Core, _user: User, path: str, _query: Query, _headers: Mapping[bytes, bytes], _body: bytes
    ) -> Response | None:
        """Answer an OpenAPI path; None for any other."""
        if path == "/openapi/v2":
            return Response(200, _EMPTY_V2, b"application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
        if path != "/openapi/v3" and not path.startswith("/openapi/v3/"):
            return None
        if self._generation != core.registry.generation:
            self._documents.clear()
            self._generation = core.registry.generation
        place = path.removeprefix("/openapi/v3").strip("/")
        if not place:
            return Response(200, orjson.dumps({"paths": self._index(core)}), b"text/plain; charset=utf-8")
        if place == "version":
            return Response(200, orjson.dumps(_VERSION_DOCUMENT))
        document = self._documents.get(place)
        if document is None:
            resources = [resource for resource in core.registry if _place(resource) == place]
            if not resources:
                return Response(404, b"", b"")
            document = self._documents[place] = orjson.dumps(self._document(resources))
        return Response(200, document)

    def _index(self, core: Core) -> Object:
        places: dict[str, list[Resource]] = {}
        for resource in core.registry:
            places.setdefault(_place(resource), []).append(resource)
        return {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_fingerprint(core, place)}"}
            for place in (*places, "version")
        }

    def _document(self, resources: list[Resource]) -> Object:
        schemas: Object = {}
        paths: Object = {}
        for resource in resources:
            name = schema_name(resource)
            schema = self._schema_of(resource)
            if schema is None:
                _collect(name, schemas)
            else:
                schemas[name] = schema
                _collect_references(schema, schemas)
                schemas[_list_name(resource)] = _list_schema(resource)
            _add_paths(paths, resource)
        for name in ("Status", "DeleteOptions", "APIResourceList", "Patch", "ListMeta", "ObjectMeta", "WatchEvent"):
            if _META + name in recorded.schemas():
                _collect(_META + name, schemas)
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "v1.36.3"},
            "paths": paths,
            "components": {"schemas": schemas},
        }


def _place(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _fingerprint(core: Core, place: str) -> str:
    return hashlib.sha256(f"{place} {core.registry.generation}".encode()).hexdigest()[:32].upper()


def schema_name(resource: Resource) -> str:
    """The component that describes the resource's kind."""
    known = recorded.type_name(resource.group, resource.version, resource.kind) if resource.builtin else None
    if known is not None:
        return known
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def _list_name(resource: Resource) -> str:
    return f"{schema_name(resource)}List"


def _list_schema(resource: Resource) -> Object:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{_REFERENCE}{_META}ListMeta"},
            "items": {"type": "array", "items": {"$ref": _REFERENCE + schema_name(resource)}},
        },
        "x-kubernetes-group-version-kind": [
            {"group": resource.group, "version": resource.version, "kind": resource.list_kind}
        ],
    }


def _collect(name: str, into: Object) -> None:
    if name in into or name not in recorded.schemas():
        return
    schema = into[name] = recorded.schemas()[name]
    _collect_references(schema, into)


def _collect_references(value: Any, into: Object) -> None:
    if is_object(value):
        reference = value.get("$ref")
        if isinstance(reference, str):
            _collect(reference.removeprefix(_REFERENCE), into)
        for child in value.values():
            _collect_references(child, into)
    elif is_list(value):
        for child in value:
            _collect_references(child, into)


def _add_paths(paths: Object, resource: Resource) -> None:
    root = f"/{_place(resource)}"
    collection = (
        f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
    )
    verbs = set(resource.verbs)
    shared = [_parameter("pretty", "query", "string")]
    scope = [_parameter("namespace", "path", "string")] if resource.namespaced else []
    one: Object = {"parameters": [*scope, *shared]}
    if "list" in verbs:
        one["get"] = _operation(resource, "list", list_kind=True, parameters=_list_parameters())
    if "create" in verbs:
        one["post"] = _operation(resource, "post", body=True, parameters=_write_parameters())
    if "deletecollection" in verbs:
        one["delete"] = _operation(resource, "deletecollection", parameters=_list_parameters(), answer="Status")
    paths[collection] = one
    if resource.namespaced and "list" in verbs:
        every = _operation(resource, "list", list_kind=True, parameters=_list_parameters())
        every["operationId"] = every["operationId"].replace("Namespaced", "") + "ForAllNamespaces"
        paths[f"{root}/{resource.plural}"] = {"parameters": shared, "get": every}
    named = [_parameter("name", "path", "string"), *scope, *shared]
    item: Object = {"parameters": named}
    if "get" in verbs:
        item["get"] = _operation(resource, "get")
    if "update" in verbs:
        item["put"] = _operation(resource, "put", body=True, parameters=_write_parameters())
    if "patch" in verbs:
        item["patch"] = _operation(resource, "patch", patch=True, parameters=_patch_parameters())
    if "delete" in verbs:
        item["delete"] = _operation(resource, "delete", parameters=_delete_parameters(), answer="Status")
    if len(item) > 1:
        paths[f"{collection}/{{name}}"] = item
    for part in resource.subresources.values():
        paths[f"{collection}/{{name}}/{part.name}"] = {"parameters": named, **_part_operations(resource, part)}


def _part_operations(resource: Resource, part: Subresource) -> Object:
    operations: Object = {}
    for verb in part.verbs:
        if verb == "get":
            operations["get"] = _operation(resource, "get", part=part)
        elif verb == "update":
            operations["put"] = _operation(resource, "put", body=True, part=part, parameters=_write_parameters())
        elif verb == "patch":
            operations["patch"] = _operation(resource, "patch", patch=True, part=part, parameters=_patch_parameters())
        elif verb == "create":
            operations["post"] = _operation(resource, "post", body=True, part=part, parameters=_write_parameters())
    return operations


def _operation(
    resource: Resource,
    action: str,
    *,
    list_kind: bool = False,
    body: bool = False,
    patch: bool = False,
    answer: str = "",
    part: Subresource | None = None,
    parameters: Iterable[Object] = (),
) -> Object:
    kind = part.kind if part else resource.kind
    group = part.group if part and part.group else resource.group
    version = part.version if part and part.version else resource.version
    own = part is None or (kind == resource.kind and group == resource.group)
    name = _list_name(resource) if list_kind else schema_name(resource) if own else _named(group, version, kind)
    shown = _META + answer if answer else name
    content = {"application/json": {"schema": {"$ref": _REFERENCE + shown}}}
    operation: Object = {
        "operationId": _operation_id(resource, action, part),
        "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    }
    listed = list(parameters)
    if listed:
        operation["parameters"] = listed
    if body:
        operation["requestBody"] = {"content": {"application/json": {"schema": {"$ref": _REFERENCE + name}}}}
    if patch:
        types = _PATCH_TYPES if resource.builtin else [t for t in _PATCH_TYPES if "strategic" not in t]
        schema = {"$ref": f"{_REFERENCE}{_META}Patch"}
        operation["requestBody"] = {"content": {t: {"schema": schema} for t in types}}
    return operation


_ACTIONS = {"get": "read", "list": "list", "post": "create", "put": "replace", "patch": "patch", "delete": "delete"}


def _operation_id(resource: Resource, action: str, part: Subresource | None) -> str:
    group = resource.group.removesuffix(".k8s.io") or "core"
    place = "".join(word.capitalize() for word in group.split(".")) + resource.version.capitalize()
    verb = "deleteCollection" if action == "deletecollection" else _ACTIONS[action]
    if verb == "deleteCollection":
        verb, place = "delete", f"{place}Collection"
    scope = "Namespaced" if resource.namespaced else ""
    return f"{verb}{place}{scope}{resource.kind}{part.name.capitalize() if part else ''}"


def _named(group: str, version: str, kind: str) -> str:
    return recorded.type_name(group, version, kind) or f"{_META}Status"


def _parameter(name: str, place: str, kind: str) -> Object:
    parameter: Object = {"name": name, "in": place, "schema": {"type": kind, "uniqueItems": True}}
    if place == "path":
        parameter["required"] = True
    return parameter


def _list_parameters() -> list[Object]:
    return [_parameter(name, "query", kind) for kind, names in _VERSION_PARAMETERS.items() for name in names]


def _write_parameters() -> list[Object]:
    return [_parameter(name, "query", "string") for name in ("dryRun", "fieldManager", "fieldValidation")]


def _patch_parameters() -> list[Object]:
    return [*_write_parameters(), _parameter("force", "query", "boolean")]


def _delete_parameters() -> list[Object]:
    return [
        _parameter("dryRun", "query", "string"),
        _parameter("gracePeriodSeconds", "query", "integer"),
        _parameter("propagationPolicy", "query", "string"),
        _parameter("orphanDependents", "query", "boolean"),
    ]
