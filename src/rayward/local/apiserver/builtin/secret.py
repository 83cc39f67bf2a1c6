"""What kube-apiserver fills in, refuses and shows of Secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, required, too_long
from rayward.kube.machinery.names import check_config_map_key
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, annotation_at
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of
from rayward.local.apiserver.builtin.scalars import decode_base64, encode_base64, size_of_base64

MAX_BYTES = 1024 * 1024
WHEN_IMMUTABLE = "field is immutable when `immutable` is set"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
_JSON_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def secret_behaviour() -> Behaviour:
    """The rules of ``v1/secrets``."""
    return behaviour(
        "io.k8s.api.core.v1.Secret",
        "v1/secrets",
        cells,
        default=default,
        prepare_update=prepare_update,
        validate=validate,
        validate_update=validate_update,
        fields=lambda obj: {"type": obj.get("type") or ""},
        selectable=frozenset({"type"}),
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a secret; plain text becomes data."""
    obj.setdefault("type", "Opaque")
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.setdefault("data", {})
        for key, value in texts.items():
            data[key] = encode_base64(value.encode())


def prepare_update(new: Object, old: Object) -> None:
    """A writer that names no type means the present one."""
    if not new.get("type") and old.get("type"):
        new["type"] = old["type"]


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    data: Mapping[str, str] = obj.get("data") or NOTHING
    size = 0
    for key, value in data.items():
        for message in check_config_map_key(key):
            out.append(invalid(f"data[{key}]", key, message))
        size += size_of_base64(value)
    if size > MAX_BYTES:
        out.append(too_long("data", MAX_BYTES))
    _check_type(obj, data, out)
    return out


def _check_type(obj: Object, data: Mapping[str, str], out: Errors) -> None:
    kind = obj.get("type") or ""
    if kind == "kubernetes.io/service-account-token":
        if not (meta_of(obj).get("annotations") or NOTHING).get(_ACCOUNT_NAME):
            out.append(required(annotation_at(_ACCOUNT_NAME)))
    elif kind in _JSON_KEYS:
        key = _JSON_KEYS[kind]
        if key not in data:
            out.append(required(f"data[{key}]"))
        else:
            problem = json_object_problem(decode_base64(data[key]))
            if problem:
                out.append(invalid(f"data[{key}]", "<secret contents redacted>", problem))
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            out += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            out.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/tls":
        out += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]


def json_object_problem(content: bytes) -> str:
    """Why bytes are no JSON object, in Go's words; empty if they are one."""
    text = content.decode(errors="replace")
    try:
        value: Any = json.loads(text)
    except ValueError:
        return _syntax_problem(text)
    if isinstance(value, dict) or value is None:
        return ""
    kind = {bool: "bool", str: "string", int: "number", float: "number", list: "array"}[type(value)]
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _syntax_problem(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        stripped = text[error.pos :].lstrip(" \t\r\n")
        if not stripped:
            return "unexpected end of JSON input"
        # Go looks at bytes.
        first = chr(stripped[0].encode("utf-8", "surrogatepass")[0])
        if error.msg.startswith("Extra data"):
            return f"invalid character '{first}' after top-level value"
        if error.msg.startswith("Expecting property name"):
            return f"invalid character '{first}' looking for beginning of object key string"
        return f"invalid character '{first}' looking for beginning of value"
    return ""


def validate_update(new: Object, old: Object) -> list[FieldError]:
    out: Errors = []
    if (new.get("type") or "") != (old.get("type") or ""):
        out.append(invalid("type", new.get("type") or "", IMMUTABLE))
    if old.get("immutable"):
        if not new.get("immutable"):
            out.append(forbidden("immutable", WHEN_IMMUTABLE))
        if (new.get("data") or NOTHING) != (old.get("data") or NOTHING):
            out.append(forbidden("data", WHEN_IMMUTABLE))
    return out + validate(new)


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Type, Data, Age."""
    return [name_of(obj), obj.get("type") or "", len(obj.get("data") or NO_ITEMS), age_of(obj, now)]
