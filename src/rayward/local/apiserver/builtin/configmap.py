"""What kube-apiserver fills in, refuses and shows of ConfigMaps."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, too_long
from rayward.kube.machinery.names import check_config_map_key
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of
from rayward.local.apiserver.builtin.scalars import size_of_base64
from rayward.local.apiserver.builtin.secret import MAX_BYTES, WHEN_IMMUTABLE


def configmap_behaviour() -> Behaviour:
    """The rules of ``v1/configmaps``."""
    return behaviour(
        "io.k8s.api.core.v1.ConfigMap",
        "v1/configmaps",
        cells,
        validate=validate,
        validate_update=validate_update,
        kube_finalizers=True,
    )


def validate(obj: Object) -> list[FieldError]:
    """A new config map."""
    out: Errors = []
    data, binary = obj.get("data") or NOTHING, obj.get("binaryData") or NOTHING
    size = 0
    for key, value in data.items():
        for message in check_config_map_key(key):
            out.append(invalid(f"data[{key}]", key, message))
        if key in binary:
            out.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        for message in check_config_map_key(key):
            out.append(invalid(f"binaryData[{key}]", key, message))
        size += size_of_base64(value)
    if size > MAX_BYTES:
        # The path of the whole object, as the real server writes it.
        out.append(too_long("[]", MAX_BYTES))
    return out


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed config map."""
    out: Errors = []
    if old.get("immutable"):
        if not new.get("immutable"):
            out.append(forbidden("immutable", WHEN_IMMUTABLE))
        for field in ("data", "binaryData"):
            if (new.get(field) or NOTHING) != (old.get(field) or NOTHING):
                out.append(forbidden(field, WHEN_IMMUTABLE))
    return out + validate(new)


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Data, Age."""
    return [name_of(obj), len(obj.get("data") or NO_ITEMS) + len(obj.get("binaryData") or NO_ITEMS), age_of(obj, now)]
