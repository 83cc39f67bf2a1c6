"""Types that the tests of this room speak about."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from rayward.kube.machinery.apply import Map, Type, custom_type_of, type_of

_DATA = Path(__file__).with_name("data")

STRING = {"type": "string"}
NUMBER = {"type": "integer"}
PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "properties": {"port": NUMBER, "protocol": {"type": "string", "default": "TCP"}, "name": STRING},
    },
}
WIDGET = custom_type_of(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": NUMBER,
                    "paused": {"type": "boolean"},
                    "image": STRING,
                    "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
                    "selector": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "additionalProperties": STRING,
                    },
                    "args": {"type": "array", "items": STRING},
                    "hosts": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "properties": {"name": STRING, "image": STRING, "size": NUMBER, "ports": PORTS},
                        },
                    },
                    "ports": PORTS,
                    "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {
                "type": "object",
                "properties": {"ready": NUMBER, "phase": STRING},
            },
        },
    }
)
"""A custom kind with one of everything."""


@cache
def _schemas() -> dict[str, Any]:
    return json.loads(gzip.decompress((_DATA / "schemas.json.gz").read_bytes()))


_memo: dict[str, Type] = {}


@cache
def built_in(name: str) -> Map:
    """A built-in kind by the name of its definition."""
    definitions = _schemas()["definitions"]
    return type_of(definitions[name], definitions.get, _memo)


def pod_type() -> Map:
    return built_in("io.k8s.api.core.v1.Pod")


def service_type() -> Map:
    return built_in("io.k8s.api.core.v1.Service")


@cache
def raycluster_type() -> Map:
    """KubeRay's RayCluster."""
    return custom_type_of(_schemas()["raycluster"])
