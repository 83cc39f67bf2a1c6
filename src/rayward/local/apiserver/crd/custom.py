"""The resources that a CRD defines, one for each served version."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from rayward.kube.machinery import apply, jsonpath, schema, table
from rayward.kube.machinery.jsonvalue import entries, is_object, section
from rayward.local.apiserver.behaviour import Behaviour, Column, DecodeError, Object
from rayward.local.apiserver.crd.definition import stored_version
from rayward.local.apiserver.crd.strategy import conversion_of
from rayward.local.apiserver.resource import Resource, Scale, Subresource

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_SCHEMAS_KEPT = 256
_RESOURCE_FIELDS: Object = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]},
}


def resources_of(crd: Object, since: int) -> list[Resource]:
    """All served versions; ``since`` is the revision from which objects are written under these schemas."""
    return [_resource(crd, version, since) for version in crd["spec"]["versions"] if version.get("served")]


def _resource(crd: Object, version: Object, since: int) -> Resource:
    spec, accepted = crd["spec"], crd["status"]["acceptedNames"]
    group, name, kind = spec["group"], version["name"], accepted["kind"]
    parts: dict[str, Subresource] = {}
    declared = section(version, "subresources")
    if "status" in declared:
        parts["status"] = Subresource("status", group, name, kind, _PART_VERBS)
    if "scale" in declared:
        parts["scale"] = Subresource("scale", "autoscaling", "v1", "Scale", _PART_VERBS)
    compiled = _compiled(version["schema"]["openAPIV3Schema"])
    return Resource(
        group=group,
        version=name,
        plural=accepted["plural"],
        singular=accepted.get("singular", ""),
        kind=kind,
        list_kind=accepted.get("listKind", f"{kind}List"),
        namespaced=spec["scope"] == "Namespaced",
        verbs=_VERBS,
        behaviour=_behaviour(version, compiled, has_status="status" in declared),
        short_names=tuple(entries(accepted, "shortNames")),
        categories=tuple(entries(accepted, "categories")),
        subresources=parts,
        storage_hash=_storage_hash(group, stored_version(crd), kind),
        storage_version=stored_version(crd),
        builtin=False,
        to_storage=_storage_pruner(crd, name),
        conversion=conversion_of(spec),
        refresh=_refresher(compiled),
        schema_since=since,
        scale=_scale(declared.get("scale")),
        deprecation=_deprecation(group, version, kind),
        source=version["schema"]["openAPIV3Schema"],
    )


def _scale(declared: Object | None) -> Scale | None:
    if declared is None:
        return None
    paths = declared["specReplicasPath"], declared["statusReplicasPath"]
    return Scale(*paths, declared.get("labelSelectorPath") or "")


def _deprecation(group: str, version: Object, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    return version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated"


_schemas: dict[str, schema.Schema] = {}


def _compiled(source: Object) -> schema.Schema:
    """Schemas are shared by content: an unchanged version of an updated CRD is not compiled again."""
    key = hashlib.sha256(orjson.dumps(source, option=orjson.OPT_SORT_KEYS)).hexdigest()
    known = _schemas.get(key)
    if known is None:
        if len(_schemas) >= _SCHEMAS_KEPT:
            _schemas.clear()
        known = _schemas[key] = schema.compile(source)
    return known


def _storage_hash(group: str, version: str, kind: str) -> str:
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _coercer(compiled: schema.Schema) -> Callable[[Object], list[str]]:
    def coerce(obj: Object) -> list[str]:
        try:
            return compiled.prune(obj)
        except schema.MetadataError as error:
            raise DecodeError(str(error)) from None

    return coerce


def _storage_pruner(crd: Object, version: str) -> Callable[[Object], None] | None:
    stored = next(v for v in crd["spec"]["versions"] if v.get("storage"))
    if stored["name"] == version:
        return None
    compiled = _compiled(stored["schema"]["openAPIV3Schema"])

    converted = conversion_of(crd["spec"]) is not None

    def prune(obj: Object) -> None:
        compiled.prune(obj)
        if converted:
            # a webhook may leave out what the stored version fills in
            compiled.default(obj)

    return prune


def _refresher(compiled: schema.Schema) -> Callable[[Object], Object]:
    def refresh(obj: Object) -> Object:
        compiled.prune(obj)
        compiled.default(obj)
        return obj

    return refresh


def _behaviour(version: Object, compiled: schema.Schema, *, has_status: bool) -> Behaviour:
    layout = _layout(entries(version, "additionalPrinterColumns"))
    selectable = _selectable(version)

    def prepare_create(obj: Object) -> None:
        if has_status:
            obj.pop("status", None)

    def prepare_update(new: Object, old: Object) -> None:
        if has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]

    def prepare_status(new: Object, old: Object) -> None:
        status = new.get("status")
        had = "status" in new
        metadata = {**old["metadata"]}
        for name in ("managedFields", "resourceVersion"):
            if name in new["metadata"]:
                metadata[name] = new["metadata"][name]
            else:
                metadata.pop(name, None)
        new.clear()
        new.update(old)
        new["metadata"] = metadata
        new.pop("status", None)
        if had:
            new["status"] = status

    return Behaviour(
        type=apply.custom_type_of(version["schema"]["openAPIV3Schema"]),
        coerce=_coercer(compiled),
        default=compiled.default,
        columns=[Column(**definition) for definition in layout.definitions],
        cells=lambda obj, now: layout.cells(obj, datetime.fromtimestamp(now, UTC)),
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=prepare_status,
        validate=compiled.validate,
        validate_update=compiled.validate,
        validate_status=compiled.validate_status,
        fields=lambda obj: {name: _field_text(path.first(obj)) for name, path in selectable.items()},
        selectable=frozenset(selectable),
        reset=apply.RESET_STATUS if has_status else apply.NOTHING,
        reset_status=apply.RESET_ALL_BUT_STATUS,
        has_status=has_status,
        counts_generation=True,
        needs_resource_version=True,
    )


def _layout(columns: list[Object]) -> table.Layout:
    """The columns up to the first that cannot be read, as kube-apiserver shows them."""
    known = next((i for i, column in enumerate(columns) if not _is_readable(column["jsonPath"])), len(columns))
    layout = table.custom_layout(columns[:known])
    if known or not columns:
        return layout
    return table.Layout(layout.definitions[:1], lambda obj, now: layout.cells(obj, now)[:1])


def _is_readable(path: str) -> bool:
    try:
        jsonpath.parse_column(path)
    except jsonpath.JSONPathError:
        return False
    return True


def _selectable(version: Object) -> dict[str, jsonpath.Path]:
    declared: list[Object] = entries(version, "selectableFields")
    return {field["jsonPath"].lstrip("."): jsonpath.parse_column(field["jsonPath"]) for field in declared}


def _field_text(value: Any) -> str:
    return "" if value is jsonpath.ABSENT or value is None else jsonpath.printed(value)


def _with_embedded(node: Object) -> Object:
    """A schema whose embedded resources have the fields of every object, as kube-apiserver publishes it."""
    shown: Object = {**node}
    if properties := section(node, "properties"):
        shown["properties"] = {name: _with_embedded(child) for name, child in properties.items()}
    for field in ("items", "additionalProperties"):
        if is_object(child := node.get(field)):
            shown[field] = _with_embedded(child)
    if node.get("x-kubernetes-embedded-resource") is True:
        shown["properties"] = {**section(shown, "properties"), **_RESOURCE_FIELDS}
        shown["required"] = sorted({*entries(node, "required"), "apiVersion", "kind"})
    return shown


def published_schema(resource: Resource) -> Object | None:
    """What OpenAPI tells of a custom resource; None for a built-in one."""
    if resource.source is None:
        return None
    schema_: Object = _with_embedded({**resource.source})
    schema_["properties"] = {**section(schema_, "properties"), **_RESOURCE_FIELDS}
    schema_["x-kubernetes-group-version-kind"] = [
        {"group": resource.group, "kind": resource.kind, "version": resource.version}
    ]
    return schema_
