"""Messages that are no objects in JSON: times, quantities, numbers or text, and JSON itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver.protobuf.reader import FaultError

_EPOCH: Final = datetime(1970, 1, 1)
_QUANTITY: Final = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*")


def wrapped_list(message: Object) -> Any:
    """A list that has a message of its own because it is the value of a map."""
    return message.get("items")


def _quantity(message: Object) -> str:
    if not message:
        return "0"
    text: str = message["string"]
    if not _QUANTITY.fullmatch(text):
        raise FaultError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return text


def _integer_or_text(message: Object) -> int | str:
    return message.get("strVal", "") if message.get("type") else message.get("intVal", 0)


def _time(message: Object) -> str | None:
    # Written with seconds only, whatever more was sent.
    return _moment(message, 0).isoformat(timespec="seconds") + "Z" if message else None


def _micro_time(message: Object) -> str | None:
    return _moment(message, message.get("nanos", 0)).isoformat(timespec="microseconds") + "Z" if message else None


def _moment(message: Object, nanoseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=message.get("seconds", 0), microseconds=nanoseconds // 1000)
    except OverflowError:
        raise FaultError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _json(message: Object) -> Any:
    raw: bytes = message.get("raw") or message.get("Raw") or b"null"
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise FaultError(f"json: the JSON inside a message cannot be read: {error}") from None


def _schema_or_bool(message: Object) -> Any:
    return message["schema"] if "schema" in message else message.get("allows", False)


def _schema_or_list(message: Object) -> Any:
    return message.get("jSONSchemas") or message.get("schema")


def _schema_or_names(message: Object) -> Any:
    return message.get("property") or message.get("schema")


_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

SPECIAL: Final[Mapping[str, Callable[[Object], Any]]] = {
    f"{_MACHINERY}api.resource.Quantity": _quantity,
    f"{_MACHINERY}apis.meta.v1.FieldsV1": _json,
    f"{_MACHINERY}apis.meta.v1.MicroTime": _micro_time,
    f"{_MACHINERY}apis.meta.v1.Time": _time,
    f"{_MACHINERY}runtime.RawExtension": _json,
    f"{_MACHINERY}util.intstr.IntOrString": _integer_or_text,
    f"{_EXTENSIONS}JSON": _json,
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": _schema_or_list,
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or_names,
}
"""What makes the JSON value, by type."""
