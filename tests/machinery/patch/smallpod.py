"""A small pod, its structure, and patches of it."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.patch import PatchError, strategic

Object = dict[str, Any]


def reference(name: str) -> Object:
    return {"allOf": [{"$ref": f"#/components/schemas/test.v1.{name}"}], "default": {}}


def merging(items: Object, key: str, strategy: str = "merge") -> Object:
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-patch-merge-key": key,
        "x-kubernetes-patch-strategy": strategy,
    }


TEXT: Object = {"type": "string"}
TEXTS: Object = {"type": "array", "items": TEXT}
MAP: Object = {"type": "object", "additionalProperties": TEXT}
TYPES: dict[str, Object] = {
    "test.v1.Pod": {
        "type": "object",
        "properties": {
            "kind": TEXT,
            "metadata": reference("Meta"),
            "spec": {"$ref": "#/components/schemas/test.v1.Spec"},
            "raw": reference("Raw"),
        },
    },
    "test.v1.Meta": {
        "properties": {
            "name": TEXT,
            "labels": MAP,
            "annotations": {**MAP, "x-kubernetes-patch-strategy": "replace"},
            "finalizers": {**TEXTS, "x-kubernetes-patch-strategy": "merge"},
        }
    },
    "test.v1.Spec": {
        "properties": {
            "containers": merging(reference("Container"), "name"),
            "volumes": merging(reference("Volume"), "name", "merge,retainKeys"),
            "strategy": {**reference("Strategy"), "x-kubernetes-patch-strategy": "retainKeys"},
            "tolerations": {"type": "array", "items": reference("Container")},
            "keyless": merging(reference("Container"), ""),
            "nested": {"type": "object", "additionalProperties": MAP},
            "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-patch-strategy": "merge"},
        }
    },
    "test.v1.Container": {
        "properties": {
            "name": TEXT,
            "image": TEXT,
            "args": TEXTS,
            "ports": merging(reference("Port"), "containerPort"),
        }
    },
    "test.v1.Port": {"properties": {"containerPort": {"type": "integer"}, "protocol": TEXT}},
    "test.v1.Volume": {"properties": {"name": TEXT, "emptyDir": {"type": "object"}, "secret": reference("Secret")}},
    "test.v1.Secret": {"properties": {"secretName": TEXT}},
    "test.v1.Strategy": {"properties": {"type": TEXT, "rolling": {"type": "object"}}},
    "test.v1.Raw": {"type": "object"},
}


def apply(doc: Object, patch: Any) -> Object:
    return strategic.apply(doc, patch, TYPES["test.v1.Pod"], TYPES.__getitem__, kind="Pod")


def spec(live: Object, patch: Object) -> Object:
    return apply({"spec": live}, {"spec": patch})["spec"]


def named(*names: str) -> list[Object]:
    return [{"name": name} for name in names]


def refusal(doc: Object, patch: Any) -> PatchError:
    with pytest.raises(PatchError) as refused:
        apply(doc, patch)
    return refused.value
