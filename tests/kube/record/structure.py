"""The recorded structure as a graph: which fields a type has, and what each is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.kube.record.server import Object

_PREFIX: Final = "#/components/schemas/"
_KEY: Final = "k"
_LEAVES: Final[dict[str, tuple[Any, ...]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("1",),
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": ({"f:spec": {}},),
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": ("2024-01-02T03:04:05.000000Z",),
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": ("2024-01-02T03:04:05Z",),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ({"a": 1},),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (0, 7, "", "x", "25%"),
}
_IMAGES: Final = ("x:latest", "x:v1", "x@sha256:" + "0" * 64, "localhost:5000/x", "localhost:5000/x:v1")
# Values on which some default depends, besides the published enums.
_TELLING: Final[dict[tuple[str, str], tuple[Any, ...]]] = {
    ("io.k8s.api.core.v1.Container", "image"): _IMAGES,
    ("io.k8s.api.core.v1.EphemeralContainer", "image"): _IMAGES,
    ("io.k8s.api.core.v1.ImageVolumeSource", "reference"): _IMAGES,
    ("io.k8s.api.core.v1.ResourceRequirements", "limits"): ({"cpu": "1", "memory": "1Gi"},),
    ("io.k8s.api.core.v1.ServiceSpec", "clusterIP"): ("None", "10.43.0.7"),
    ("io.k8s.api.rbac.v1.Subject", "kind"): ("ServiceAccount", "User", "Group"),
}
# What must stand beside a field for the server not to drop it.
_COMPANIONS: Final[dict[tuple[str, str], Object]] = {
    ("io.k8s.api.core.v1.ServiceSpec", "sessionAffinityConfig"): {"sessionAffinity": "ClientIP"},
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a type: nested list and map levels around a scalar or a named type."""

    name: str
    levels: tuple[str, ...]
    type: str | None
    schema: Mapping[str, Any]
    companions: Mapping[str, Any]
    """Values of other fields without which the server drops this one."""

    def wrap(self, value: Any) -> Any:
        """The value inside the field's lists and maps, one entry in each."""
        for level in reversed(self.levels):
            value = [value] if level == "list" else {_KEY: value}
        return value

    def unwrap(self, value: Any) -> Any:
        """The first value inside the field's lists and maps; None if there is none."""
        for level in self.levels:
            if not value:
                return None
            value = value[0] if level == "list" else value[_KEY]
        return value


class Structure:
    """The graph of the recorded schemas."""

    def __init__(self, schemas: Mapping[str, Object]) -> None:
        self._schemas = schemas
        self._fields = {name: tuple(_fields(name, schema)) for name, schema in schemas.items()}

    def kind(self, group: str, kind: str) -> str:
        """The type of a kind."""
        wanted = {"group": group, "kind": kind, "version": "v1"}
        return next(n for n, s in self._schemas.items() if wanted in s.get("x-kubernetes-group-version-kind", ()))

    def fields(self, name: str) -> tuple[Field, ...]:
        """The fields of a type, none for a leaf."""
        return () if name in _LEAVES else self._fields[name]

    def samples(self, owner: str, field: Field) -> list[Any]:
        """Values worth trying in a field, the empty ones included."""
        telling = _TELLING.get((owner, field.name), ())
        if field.levels:
            empty = [] if field.levels[0] == "list" else {}
            return [empty, *(telling or (field.wrap(self._scalars(field)[-1]),))]
        return [*self._scalars(field), *telling]

    def _scalars(self, field: Field) -> list[Any]:
        if field.type is not None:
            return list(_LEAVES.get(field.type, ({},)))
        kind = field.schema.get("type")
        if kind == "string":
            if field.schema.get("format") == "byte":
                return ["", "eA=="]
            return ["", *field.schema.get("enum", ("x",))]
        return {"integer": [0, 7], "number": [0, 7], "boolean": [False, True]}.get(kind or "", [{"a": 1}])


def _fields(owner: str, schema: Object) -> Iterator[Field]:
    for name, part in schema.get("properties", {}).items():
        levels: list[str] = []
        while (kind := part.get("type")) in {"array", "object"}:
            inner = part.get("items" if kind == "array" else "additionalProperties")
            if not isinstance(inner, dict):
                break
            levels.append("list" if kind == "array" else "map")
            part = inner
        reference = part.get("$ref") or next((each["$ref"] for each in part.get("allOf", ())), "")
        of = reference.removeprefix(_PREFIX) or None
        yield Field(name, tuple(levels), of, part, _COMPANIONS.get((owner, name), {}))
