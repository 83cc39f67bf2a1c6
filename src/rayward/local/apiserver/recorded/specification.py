"""The recordings, read once and kept."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from rayward.kube.machinery.jsonvalue import Object

_FOLDER: Final = Path(__file__).parent
_REFERENCE: Final = "#/components/schemas/"


@cache
def schemas() -> Mapping[str, Object]:
    """Structure by type name (``io.k8s.api.core.v1.Pod``) as ``/openapi/v3`` publishes it, without descriptions."""
    return _read("schemas")


def schema(reference: str) -> Object:
    """The structure of one type, by its name or by a ``$ref`` to it."""
    return schemas()[reference.removeprefix(_REFERENCE)]


@cache
def _type_names() -> Mapping[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, structure in schemas().items()
        for kind in structure.get("x-kubernetes-group-version-kind", ())
    }


def type_name(group: str, version: str, kind: str) -> str | None:
    """The name of the type that a kind's objects have, such as ``io.k8s.api.core.v1.Pod``."""
    return _type_names().get((group, version, kind))


@cache
def resources() -> Sequence[Object]:
    """Discovery entries of the built-in resources, in the order in which a real server lists them.

    Keys: group, version, plural, singular, kind, namespaced, verbs, shortNames, categories, storageVersionHash and
    subresources (name, responseKind, verbs).
    """
    return _read("resources")


@cache
def columns() -> Mapping[str, Sequence[Object]]:
    """Table columns (name, type, format, priority) by apiVersion and plural, such as ``apps/v1/deployments``."""
    return _read("columns")


@cache
def wire() -> Mapping[str, Object]:
    """How a typed server writes each type as JSON, by type name.

    Keys of a type:
        go: Its Go name, as texts of decoding errors show it.
        zero: What an empty value is written as; everything in it is written even when unset.
        fields: Go type by field name, without pointer stars.
        pointers: Fields that keep an explicit ``0``, ``false``, ``""`` or ``{}``. All other fields are dropped when
            empty unless ``zero`` holds them.
        custom: True for a type that is written in its own way (times, quantities); it has no fields.
    """
    return _read("wire")


@cache
def defaults() -> Mapping[str, Object]:
    """What a typed server fills into unset fields of each type, wherever it occurs and whatever its other fields are.

    Fields of a type by type name. Defaults that follow from other fields are code, not data.
    """
    return _read("defaults")


@cache
def protobuf() -> Mapping[str, Object]:
    """The protobuf fields of each type, by type name and field number: JSON name, kind, and type of a message.

    A kind is a protobuf type, perhaps after ``list `` or ``map ``. A field of kind ``inline`` has no name; in place of
    its type stand the fields that JSON writes in its place.
    """
    return _read("protobuf")


@cache
def policy() -> Mapping[str, Sequence[Object]]:
    """The roles and bindings of a new cluster, by plural name of their resource."""
    return _read("policy")


def _read(name: str) -> Any:
    return orjson.loads(gzip.decompress((_FOLDER / f"{name}.json.gz").read_bytes()))
