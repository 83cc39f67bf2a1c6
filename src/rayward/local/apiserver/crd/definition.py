"""What a valid CustomResourceDefinition is, in kube-apiserver's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rayward.kube.machinery import names
from rayward.kube.machinery.fielderror import (
    FieldError,
    Verbatim,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.kube.machinery.schema import structural
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.webhookconfiguration import check_client

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SCOPES = ["Cluster", "Namespaced"]
_MOST_SELECTABLE = 8


def condition(crd: Object, kind: str) -> Object | None:
    """One condition of the CRD's status."""
    return next((c for c in entries(section(crd, "status"), "conditions") if c["type"] == kind), None)


def is_true(crd: Object, kind: str) -> bool:
    """Whether a condition holds."""
    found = condition(crd, kind)
    return found is not None and found["status"] == "True"


def stored_version(crd: Object) -> str:
    """The version in which objects are stored."""
    return next((v["name"] for v in entries(crd["spec"], "versions") if v.get("storage")), "")


def prepare_create(crd: Object) -> None:
    """A new CRD starts with an empty status that already names its stored version."""
    crd["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    _remember_stored(crd)


def prepare_update(new: Object, old: Object) -> None:
    """Status is the server's; a new storage version is remembered in it."""
    new["status"] = {**section(old, "status")}
    _remember_stored(new)


def prepare_status(new: Object, old: Object) -> None:
    """Through the status endpoint nothing but the status and some metadata changes."""
    new["spec"] = old["spec"]
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in old["metadata"]:
            new["metadata"][field] = old["metadata"][field]
        else:
            new["metadata"].pop(field, None)


def _remember_stored(crd: Object) -> None:
    version = stored_version(crd)
    stored: list[str] = entries(crd["status"], "storedVersions")
    if version and version not in stored:
        crd["status"]["storedVersions"] = [*stored, version]


def check_name_of(crd: Object) -> list[FieldError]:
    """A CRD is named after its plural and group."""
    spec, name = crd["spec"], crd["metadata"].get("name", "")
    if name == f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def validate(crd: Object) -> list[FieldError]:
    """What is wrong with a new CRD."""
    return [*check_name_of(crd), *_spec(crd["spec"]), *_stored_versions(crd), *_approval(crd)]


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed CRD."""
    errors = [*_spec(new["spec"], old["spec"])]
    spec, before = new["spec"], old["spec"]
    pairs = [("spec.group", spec.get("group"), before.get("group"))]
    if is_true(old, "Established"):
        errors += _unchanged("spec.scope", spec.get("scope"), before.get("scope"))
        errors += _unchanged("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
    pairs.append(("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")))
    for path, value, was in pairs:
        errors += _unchanged(path, value, was)
    return [*errors, *_stored_versions(new)]


def _unchanged(path: str, new: Any, old: Any) -> list[FieldError]:
    return [] if new == old else [invalid(path, new, "field is immutable")]


def _spec(spec: Object, old: Object | None = None) -> Iterator[FieldError]:
    group = spec.get("group", "")
    if not group:
        yield required("spec.group")
    elif problems := names.check_dns1123_subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        yield not_supported("spec.scope", scope, _SCOPES)
    versions: list[Object] = entries(spec, "versions")
    for i, version in enumerate(versions):
        if not section(version, "schema").get("openAPIV3Schema"):
            yield required(f"spec.versions[{i}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)
    before = {v["name"]: v.get("schema") for v in (entries(old, "versions") if old else [])}
    shared = {part for part in _PARTS if _is_shared(versions, part)}
    for i, version in enumerate(versions):
        known = old is not None and before.get(version.get("name")) == version.get("schema")
        yield from _version(version, f"spec.versions[{i}]")
        for part in _PARTS:
            if part not in shared:
                yield from _part(version, part, f"spec.versions[{i}].{part}", schema_known=known)
    # with no spec at all Go has no list, else an empty one
    given = [_internal(version, shared) for version in versions] if versions or group else None
    shown = Verbatim(json.dumps(given, separators=(",", ":")))
    if len({v.get("name") for v in versions}) != len(versions):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(v.get("storage")) for v in versions) != 1:
        yield invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if versions and (problems := names.check_dns1035_label(versions[0].get("name", ""))):
        yield invalid("spec.version", versions[0].get("name", ""), ",".join(problems))
    yield from _names(section(spec, "names"))
    for part in _PARTS:
        if part in shared:
            known = old is not None and all(before.get(v.get("name")) == v.get("schema") for v in versions)
            yield from _part(versions[0], part, _SHARED_PATHS.get(part, f"spec.{part}"), schema_known=known)
    yield from _conversion(section(spec, "conversion"))


_PARTS = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_SHARED_PATHS = {"schema": "spec.validation"}


def _is_shared(versions: list[Object], part: str) -> bool:
    """Whether all versions say the same; kube-apiserver then reports it as a property of the whole definition."""
    return (
        bool(versions) and bool(versions[0].get(part)) and all(v.get(part) == versions[0].get(part) for v in versions)
    )


def _internal(version: Object, shared: set[str]) -> Object:
    """A version as kube-apiserver's internal type prints it."""

    def own(part: str) -> Any:
        return None if part in shared else version.get(part)

    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": own("schema"),
        "Subresources": own("subresources"),
        "AdditionalPrinterColumns": own("additionalPrinterColumns"),
        "SelectableFields": own("selectableFields"),
    }


def _names(given: Object) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not given.get(field):
            yield required(f"spec.names.{field}")
    for field in ("plural", "singular"):
        value = given.get(field, "")
        if value and (problems := names.check_dns1035_label(value)):
            yield invalid(f"spec.names.{field}", value, ",".join(problems))
    for field in ("kind", "listKind"):
        value = given.get(field, "")
        if value and (problems := names.check_dns1035_label(value.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            yield invalid(f"spec.names.{field}", value, text)
    for field in ("shortNames", "categories"):
        for i, value in enumerate(entries(given, field)):
            if problems := names.check_dns1035_label(value):
                yield invalid(f"spec.names.{field}[{i}]", value, ",".join(problems))
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        yield invalid("spec.names.listKind", given["listKind"], "kind and listKind may not be the same")


def _version(version: Object, path: str) -> Iterator[FieldError]:
    name = version.get("name", "")
    if problems := names.check_dns1035_label(name):
        yield invalid(f"{path}.name", name, ",".join(problems))
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        yield invalid(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")


def _part(version: Object, part: str, path: str, *, schema_known: bool) -> Iterator[FieldError]:
    schema: Object = section(section(version, "schema"), "openAPIV3Schema")
    subresources = section(version, "subresources")
    match part:
        case "schema":
            if schema and not schema_known:
                # what was accepted once stays accepted, as long as nobody touches it
                yield from structural.check(schema, path, status_subresource="status" in subresources)
        case "subresources":
            yield from _scale(subresources.get("scale"), path)
        case "additionalPrinterColumns":
            for i, column in enumerate(entries(version, part)):
                yield from _column(column, f"{path}[{i}]")
        case _:
            selectable: list[Object] = entries(version, part)
            for i, field in enumerate(selectable):
                yield from _selectable(field.get("jsonPath", ""), schema, f"{path}[{i}].jsonPath")
            if len(selectable) > _MOST_SELECTABLE:
                yield too_many(path, len(selectable), _MOST_SELECTABLE)


def _scale(scale: Object | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for field, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value = scale.get(field) or ""
        where = f"{path}.scale.{field}"
        if not value:
            if field != "labelSelectorPath":
                yield required(where)
        elif value[0] != ".":
            yield invalid(where, value, "must be a simple json path starting with .")
        elif not value.startswith(roots):
            place = roots[0][:-1] if len(roots) == 1 else "either .spec or .status"
            yield invalid(where, value, f"should be a json path under {place}")


def _column(column: Object, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind = column.get("type", "")
    if not kind:
        yield required(f"{path}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    form = column.get("format", "")
    if form and form not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    where = column.get("jsonPath", "")
    if not where:
        yield required(f"{path}.JSONPath")
    elif where[0] != ".":
        yield invalid(f"{path}.JSONPath", where, "must be a simple json path starting with .")


def _selectable(json_path: str, schema: Object, path: str) -> Iterator[FieldError]:
    if not json_path:
        yield required(path)
        return
    node: Any = schema
    for part in json_path.strip(".").split("."):
        node = section(node, "properties").get(part)
        if node is None:
            yield invalid(path, json_path, "is an invalid path: does not refer to a valid field")
            return
    if json_path.startswith(".metadata"):
        yield invalid(path, json_path, "must not point to fields in metadata")
    if node.get("type") not in {"string", "boolean", "integer"}:
        text = (
            "must point to a field of type string, boolean or integer. "
            "Enum string fields and strings with formats are allowed."
        )
        yield invalid(path, json_path, text)


def _conversion(conversion: Object) -> Iterator[FieldError]:
    strategy, at = conversion.get("strategy", ""), "spec.conversion"
    webhook = section(conversion, "webhook")
    client: Object | None = webhook.get("clientConfig")
    versions: list[str] = entries(webhook, "conversionReviewVersions")
    if conversion and not strategy:
        yield required(f"{at}.strategy")
    elif strategy and strategy not in {"None", "Webhook"}:
        yield not_supported(f"{at}.strategy", strategy, ["None", "Webhook"])
    if strategy == "Webhook":
        if client is None:
            yield required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook")
        else:
            wrong: list[FieldError] = []
            check_client(client, f"{at}.webhookClientConfig", wrong)
            yield from wrong
        yield from _review_versions(versions, f"{at}.conversionReviewVersions")
        return
    text = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden(f"{at}.webhookClientConfig", text)
    if versions:
        yield forbidden(f"{at}.conversionReviewVersions", text)


def _review_versions(versions: list[str], at: str) -> Iterator[FieldError]:
    if not versions:
        yield required(at)
        return
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{at}[{i}]", version, "duplicate version")
            continue
        seen.add(version)
        for problem in names.check_dns1035_label(version):
            yield invalid(f"{at}[{i}]", version, problem)
    if not seen & {"v1", "v1beta1"}:
        yield invalid(at, versions, "must include at least one of v1, v1beta1")


def _stored_versions(crd: Object) -> Iterator[FieldError]:
    stored: list[str] = entries(section(crd, "status"), "storedVersions")
    known = {v.get("name") for v in entries(crd["spec"], "versions")}
    had = set(stored)
    path = "status.storedVersions"
    if not stored:
        yield invalid(path, None, "must have at least one stored version")
        return
    for version in entries(crd["spec"], "versions"):
        if version.get("storage") and version.get("name") not in had:
            yield invalid(path, stored, f"must have the storage version {version.get('name')}")
    for i, version in enumerate(stored):
        if version not in known:
            yield invalid(
                f"{path}[{i}]",
                version,
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and removes "
                f"{version} from status.storedVersions",
            )


def _approval(crd: Object) -> Iterator[FieldError]:
    group: str = crd["spec"].get("group", "")
    protected = group in {"k8s.io", "kubernetes.io"} or group.endswith((".k8s.io", ".kubernetes.io"))
    annotation = section(crd["metadata"], "annotations").get("api-approved.kubernetes.io", "")
    if protected and not annotation:
        text = (
            "protected groups must have approval annotation "
            '"api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
        )
        yield required("metadata.annotations[api-approved.kubernetes.io]", text)
