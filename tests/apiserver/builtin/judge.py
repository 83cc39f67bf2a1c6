"""What our rules say to an object: the steps of a write without a server around them."""

from __future__ import annotations

import copy
import ipaddress
import re
from typing import Any

from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.objectmeta import check_object_meta, check_object_meta_update
from rayward.local.apiserver import builtin
from rayward.local.apiserver.behaviour import Behaviour, DecodeError, Endpoint
from rayward.local.apiserver.builtin import namespace, node, volume
from rayward.local.apiserver.builtin.claim import strategy as claim
from rayward.local.apiserver.builtin.pod import admit as podadmit
from rayward.local.apiserver.builtin.pod import change as podchange
from rayward.local.apiserver.builtin.pod import resize as podresize
from rayward.local.apiserver.builtin.priorityclass import SYSTEM_CLASSES
from rayward.local.apiserver.builtin.service import assign as serviceassign
from rayward.local.apiserver.resource import Resource
from tests.kube.real.cluster import SERVICE_CIDR

Object = dict[str, Any]

UID = "00000000-0000-0000-0000-000000000000"
CREATED = "2020-01-01T00:00:00Z"
_NOW = 1_700_000_000.0
_NETWORK = ipaddress.IPv4Network(SERVICE_CIDR)
_AGE = re.compile(r"(?<![\w.])(\d+y)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(?<=\d[ydhms])(?![\w.])")
_CLASSES = [
    {"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority"}
    for name, (value, _) in SYSTEM_CLASSES.items()
]
_GIVEN_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion")
_UNEQUAL = ("managedFields", "creationTimestamp", "resourceVersion", "uid", "selfLink")


def resource_named(name: str) -> Resource:
    """A built-in resource, ``pods`` or ``jobs.batch``."""
    plural, _, group = name.partition(".")
    return next(r for r in builtin.resources() if (r.plural, r.group) == (plural, group))


def rules(name: str) -> Behaviour:
    """The rules of a built-in resource."""
    return resource_named(name).behaviour


def merged(target: Any, patch: Any) -> Any:
    """An object with a merge patch applied."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result: Object = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def shared(obj: Object) -> Object:
    """The part of an object that two servers agree on."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _UNEQUAL}
    return {**obj, "metadata": metadata}


def causes(errors: list[FieldError]) -> list[list[str]]:
    """Errors as a Status lists them."""
    return [[error.field, error.body, error.reason.value] for error in errors]


def masked_cells(cells: list[Any]) -> list[Any]:
    """A row of a table without the ages in it."""
    return [_AGE.sub("<age>", cell) if isinstance(cell, str) else cell for cell in cells]


def in_any_order(answer: Object) -> Object:
    """An answer with its causes sorted."""
    return {**answer, "causes": sorted(answer["causes"])}


class _RefusalError(Exception):
    def __init__(self, code: int, **said: Any) -> None:
        self.answer = {"code": code, **said}


def create(name: str, given: Object) -> Object:
    """The answer to an object that is created."""
    resource, warnings = resource_named(name), list[str]()
    try:
        obj = _read(resource, given, warnings)
        _admit(resource, obj)
        resource.behaviour.prepare_create(obj)
        _refuse(_judge_new(resource, obj))
    except _RefusalError as refused:
        return {**refused.answer, "warnings": warnings}
    warnings += resource.behaviour.warnings(obj, None)
    return _accepted(201, resource, obj, warnings)


def change(name: str, old: Object, new: Object, subresource: str) -> Object:
    """The answer to an object that is replaced, as a whole or through one of its subresources."""
    resource, warnings = resource_named(name), list[str]()
    behaviour, old = resource.behaviour, copy.deepcopy(old)
    try:
        obj = _read(resource, new, warnings)
        _keep_system_fields(obj["metadata"], old["metadata"])
        if not subresource:
            _admit_change(resource, obj, old)
        endpoint = _endpoint(behaviour, subresource)
        endpoint.prepare(obj, old)
        if endpoint.counts_generation and _body(behaviour, obj) != _body(behaviour, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        wrong = check_object_meta_update(obj["metadata"], old["metadata"], kube_finalizers=behaviour.kube_finalizers)
        # Metadata is checked for all kinds alike, and again with the kind.
        _refuse([*wrong, *wrong, *endpoint.validate(obj, old)])
        if name == "persistentvolumeclaims" and not subresource:
            _refuse_growth(obj, old)
    except _RefusalError as refused:
        return {**refused.answer, "warnings": warnings}
    if not subresource:
        warnings += behaviour.warnings(obj, old)
    answer = _accepted(200, resource, obj, warnings)
    # Other subresources have no tables.
    return answer if subresource in ("", "status") else answer | {"cells": []}


def _endpoint(behaviour: Behaviour, subresource: str) -> Endpoint:
    match subresource:
        case "status":
            return Endpoint(behaviour.prepare_status, behaviour.validate_status)
        case "resize":
            return Endpoint(podresize.prepare_resize, podresize.check_resize, counts_generation=True)
        case "ephemeralcontainers":
            return Endpoint(podchange.prepare_ephemeral, podchange.check_ephemeral, counts_generation=True)
        case "finalize":
            return Endpoint(namespace.prepare_finalize, namespace.validate_finalize)
        case _:
            return Endpoint(behaviour.prepare_update, behaviour.validate_update, behaviour.counts_generation)


def _accepted(code: int, resource: Resource, obj: Object, warnings: list[str]) -> Object:
    cells = masked_cells(resource.behaviour.cells(obj, _NOW))
    return {"code": code, "object": shared(obj), "warnings": warnings, "cells": cells}


def _read(resource: Resource, given: Object, warnings: list[str]) -> Object:
    obj = copy.deepcopy(given)
    try:
        unknown = resource.behaviour.coerce(obj)
    except DecodeError as error:
        text = f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: {error}'
        raise _RefusalError(400, message=text) from error
    if resource.deprecation:
        warnings.append(resource.deprecation)
    warnings += [f'unknown field "{path}"' for path in unknown]
    resource.behaviour.default(obj)
    return obj


def _admit(resource: Resource, obj: Object) -> None:
    metadata: Object = obj["metadata"]
    for field in (*_GIVEN_BY_SERVER, "generation"):
        metadata.pop(field, None)
    if resource.namespaced:
        metadata["namespace"] = "default"
    if resource.behaviour.counts_generation:
        metadata["generation"] = 1
    metadata |= {"uid": UID, "creationTimestamp": CREATED}
    match resource.plural:
        case "pods":
            try:
                podadmit.admit_scheduling(obj, _CLASSES)
            except podadmit.Refused as refused:
                name = metadata.get("name") or metadata.get("generateName") or "Unknown"
                text = f'pods "{name}" is forbidden: {refused}'
                raise _RefusalError(403, message=text) from refused
        case "services":
            _assign(obj, None)
        case "persistentvolumeclaims":
            claim.admit(obj)
        case "persistentvolumes":
            volume.admit_volume(obj)
        case "nodes":
            node.admit(obj)
        case _:
            pass


def _assign(new: Object, old: Object | None) -> None:
    try:
        serviceassign.assign(new, old, serviceassign.Pool(_NETWORK, lambda _count: 0, dry_run=True))
    except serviceassign.NotAssigned as error:
        _refuse(error.errors)


def _judge_new(resource: Resource, obj: Object) -> list[FieldError]:
    behaviour = resource.behaviour
    errors = check_object_meta(
        obj["metadata"],
        namespaced=resource.namespaced,
        name_check=behaviour.check_name,
        kube_finalizers=behaviour.kube_finalizers,
    )
    return [*errors, *behaviour.validate(obj)]


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise _RefusalError(422, causes=causes(errors))


def _keep_system_fields(metadata: Object, former: Object) -> None:
    metadata.setdefault("uid", former["uid"])
    for field in ("creationTimestamp", "deletionTimestamp", "generation"):
        metadata.pop(field, None)
        if field in former:
            metadata[field] = former[field]


def _admit_change(resource: Resource, obj: Object, old: Object) -> None:
    if resource.plural == "pods":
        podadmit.admit_change(obj, old)
    if resource.plural == "services":
        _assign(obj, old)


def _body(behaviour: Behaviour, obj: Object) -> Object:
    beside = ("metadata", "status") if behaviour.has_status else ("metadata",)
    return {k: v for k, v in obj.items() if k not in beside}


def _refuse_growth(obj: Object, old: Object) -> None:
    text = claim.refuse_growth(obj, old, class_grows=False)
    if text:
        name = obj["metadata"]["name"]
        raise _RefusalError(403, message=f'persistentvolumeclaims "{name}" is forbidden: {text}')
