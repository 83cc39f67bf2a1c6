"""The rules for ``metadata`` that hold for every kind, in Kubernetes' order and words.

Values are expected to have their types already (a label is text, a finalizer is text): decoding sees to that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rayward.kube.machinery import duration, fielderror, names
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.jsonvalue import Object

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})
_TIMESTAMPS: Final = frozenset({"creationTimestamp", "deletionTimestamp"})
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_MANAGER_MAX_BYTES: Final = 128
_SUBRESOURCE_MAX_BYTES: Final = 256
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_REQUIRED_OWNER_FIELDS: Final = _OWNER_FIELDS[:4]


def check_object_meta(
    meta: Object,
    *,
    namespaced: bool,
    name_check: names.NameCheck,
    path: str = "metadata",
    kube_finalizers: bool = False,
) -> list[FieldError]:
    """What is wrong with the metadata of an object about to be created, its name already generated.

    ``kube_finalizers`` adds the rule of built-in kinds that a finalizer without a domain must be a standard one.
    """
    errors: list[FieldError] = []
    if prefix := meta.get("generateName"):
        errors += [fielderror.invalid(f"{path}.generateName", prefix, text) for text in name_check(prefix, True)]
    if name := meta.get("name"):
        errors += [fielderror.invalid(f"{path}.name", name, text) for text in name_check(name, False)]
    else:
        errors.append(fielderror.required(f"{path}.name", "name or generateName is required"))
    errors += _check_namespace(meta.get("namespace"), namespaced, f"{path}.namespace")
    generation = meta.get("generation") or 0
    if generation < 0:
        errors.append(fielderror.invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    errors += _check_maps_and_owners(meta, path)
    errors += check_finalizers(meta.get("finalizers"), f"{path}.finalizers")
    errors += _check_managed_fields(meta.get("managedFields"), f"{path}.managedFields")
    if kube_finalizers:
        errors += _check_kube_finalizers(meta.get("finalizers"), f"{path}.finalizers")
    return errors


def check_object_meta_update(
    new: Object, old: Object, *, path: str = "metadata", kube_finalizers: bool = False
) -> list[FieldError]:
    """What is wrong with replacing the metadata ``old`` by ``new``."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            shown = ", ".join(_quoted(finalizer) for finalizer in added)
            text = "no new finalizers can be added if the object is being deleted, found new finalizers "
            errors.append(fielderror.forbidden(f"{path}.finalizers", f"{text}[]string{{{shown}}}"))
    if not new.get("resourceVersion"):
        errors.append(fielderror.invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(fielderror.invalid(f"{path}.generation", new.get("generation") or 0, "must not be decremented"))
    for field in _IMMUTABLE:
        value = _known(new, field)
        before = _known(old, field)
        if value != before and not (field in _TIMESTAMPS and _same_moment(value, before)):
            errors.append(fielderror.invalid(f"{path}.{field}", value, "field is immutable"))
    errors += _check_maps_and_owners(new, path)
    errors += _check_managed_fields(new.get("managedFields"), f"{path}.managedFields")
    if kube_finalizers:
        errors += _check_kube_finalizers(new.get("finalizers"), f"{path}.finalizers")
    return errors


def _known(meta: Object, field: str) -> Any:
    value = meta.get(field)
    if field == "deletionGracePeriodSeconds" or value:
        return value
    return None if field in _TIMESTAMPS else ""


def _same_moment(one: str | None, other: str | None) -> bool:
    moment = duration.instant(one) if one else None
    return moment is not None and other is not None and moment == duration.instant(other)


def _check_namespace(namespace: str | None, namespaced: bool, path: str) -> list[FieldError]:
    if not namespaced:
        return [fielderror.forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [fielderror.required(path)]
    return [fielderror.invalid(path, namespace, text) for text in names.check_dns1123_label(namespace)]


def _check_maps_and_owners(meta: Object, path: str) -> Iterator[FieldError]:
    yield from check_labels(meta.get("labels"), f"{path}.labels")
    yield from check_annotations(meta.get("annotations"), f"{path}.annotations")
    yield from _check_owner_references(meta.get("ownerReferences"), f"{path}.ownerReferences")


def check_labels(labels: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """What is wrong with a map of labels."""
    if not labels:
        return []
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [fielderror.invalid(path, key, text) for text in names.check_qualified_name(key)]
        errors += [fielderror.invalid(path, value, text) for text in names.check_label_value(value)]
    return errors


def check_annotations(annotations: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """What is wrong with a map of annotations: bad keys, or more than 256 KiB in all."""
    if not annotations:
        return []
    errors: list[FieldError] = []
    for key in annotations:
        errors += [fielderror.invalid(path, key, text) for text in names.check_qualified_name(key.lower())]
    if names.annotations_too_large(annotations):
        errors.append(fielderror.too_long(path, names.ANNOTATIONS_MAX_BYTES))
    return errors


def check_finalizers(finalizers: Sequence[str] | None, path: str) -> list[FieldError]:
    """What is wrong with a list of finalizers."""
    if not finalizers:
        return []
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors += [fielderror.invalid(path, finalizer, text) for text in names.check_qualified_name(finalizer)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        text = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        errors.append(fielderror.invalid(path, list(finalizers), text))
    return errors


def _check_kube_finalizers(finalizers: Sequence[str] | None, path: str) -> Iterator[FieldError]:
    for index, finalizer in enumerate(finalizers or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield fielderror.invalid(f"{path}[{index}]", finalizer, text)


def _check_owner_references(references: Sequence[Object] | None, path: str) -> Iterator[FieldError]:
    first_controller = ""
    for reference in references or ():
        yield from _check_owner_reference(reference, path)
        if not reference.get("controller"):
            continue
        controller = f"{reference.get('kind') or ''}/{reference.get('name') or ''}"
        if first_controller:
            text = (
                'Only one reference can have Controller set to true. Found "true" in references for '
                f"{first_controller} and {controller}"
            )
            yield _invalid_owner(path, [_owner(each) for each in references or ()], text)
        else:
            first_controller = controller


def _check_owner_reference(reference: Object, path: str) -> Iterator[FieldError]:
    api_version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
    group, _, version = api_version.rpartition("/")
    if not version or "/" in group:
        yield fielderror.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not reference.get(field):
            yield fielderror.invalid(f"{path}.{field}", "", "must not be empty")
    if not group and version == "v1" and kind == "Event":
        yield _invalid_owner(path, _owner(reference), "/v1, Kind=Event is disallowed from being an owner")


def _invalid_owner(path: str, shown: Any, text: str) -> FieldError:
    # The fields of a reference show in their declared order, not sorted as in a map; so it is part of the detail.
    return FieldError(fielderror.Reason.INVALID, path, detail=f"{_go_json(shown)}: {text}")


def _owner(reference: Object) -> Object:
    shown = {field: reference.get(field) or "" for field in _REQUIRED_OWNER_FIELDS}
    shown |= {field: reference[field] for field in _OWNER_FIELDS[4:] if reference.get(field) is not None}
    return shown


def _go_json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _check_managed_fields(entries: Sequence[Object] | None, path: str) -> Iterator[FieldError]:
    for index, entry in enumerate(entries or ()):
        operation = entry.get("operation") or ""
        if operation not in ("Apply", "Update"):
            yield fielderror.invalid(f"{path}[{index}].operation", operation, "must be `Apply` or `Update`")
        fields_type = entry.get("fieldsType") or ""
        if fields_type not in ("", "FieldsV1"):
            yield fielderror.invalid(f"{path}[{index}].fieldsType", fields_type, "must be `FieldsV1`")
        yield from check_field_manager(entry.get("manager") or "", f"{path}[{index}].manager")
        if len((entry.get("subresource") or "").encode()) > _SUBRESOURCE_MAX_BYTES:
            yield fielderror.too_long(f"{path}[{index}].subresource", _SUBRESOURCE_MAX_BYTES)


def check_field_manager(manager: str, path: str = "fieldManager") -> list[FieldError]:
    """What is wrong with the name of a field manager."""
    if manager.isascii() and manager.isprintable() and len(manager) <= _MANAGER_MAX_BYTES:
        return []
    errors: list[FieldError] = []
    if len(manager.encode()) > _MANAGER_MAX_BYTES:
        errors.append(fielderror.too_long(path, _MANAGER_MAX_BYTES))
    position = 0
    for character in manager:
        if not character.isprintable():
            text = f"invalid character U+{ord(character):04X} (at position {position})"
            errors.append(fielderror.invalid(path, manager, text))
        position += len(character.encode())
    return errors
