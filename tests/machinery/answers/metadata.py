"""Questions about names and metadata."""

from __future__ import annotations

from random import Random
from typing import Any

from rayward.kube.machinery import names, objectmeta
from rayward.kube.machinery.fielderror import FieldError
from tests.machinery.answers.question import Object, Question

_RULES = [
    "dns1123_label",
    "dns1123_subdomain",
    "dns1035_label",
    "wildcard_dns1123_subdomain",
    "qualified_name",
    "label_value",
    "env_var_name",
    "config_map_key",
    "port_name",
    "http_header_name",
    "percent",
    "path_segment",
    "path_segment_prefix",
]
_PARTS = [*"abzA09-._/%=* é\n漢~", "a" * 60, "b" * 200, "..", "--", "example.com/"]
_OWNERS: list[Object] = [
    {"apiVersion": "v1", "kind": "Pod", "name": "a<b", "uid": "1", "controller": True},
    {"apiVersion": "a/b/c", "kind": "", "name": "", "uid": ""},
    {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "2", "blockOwnerDeletion": False},
    {"apiVersion": "apps/v1", "kind": "D", "name": "d", "uid": "3", "controller": True, "blockOwnerDeletion": True},
    {"apiVersion": "apps/", "kind": "K", "name": "d", "uid": "3"},
    {"apiVersion": "/v1", "kind": "Event", "name": "d", "uid": "3"},
]
_MANAGERS: list[Object] = [
    {"manager": "a", "operation": "Apply"},
    {"manager": "mé", "operation": "X"},
    {"manager": "x" * 129, "operation": "Update", "fieldsType": "V2"},
    {"operation": "Update", "subresource": "s" * 257},
]
_MEMBERS: dict[str, list[Any]] = {
    "name": ["a", "a.b", "A_", "", "x" * 260, "b-"],
    "generateName": ["a-", "-", "A-", "AB--"],
    "namespace": ["default", "A", "a.b", ""],
    "generation": [-1, 0, 3, 5],
    "labels": [{"a": "b"}, {"A/b/c": "x"}, {"/x": "-"}, {"x.y/": "ok"}, {"a": "é"}],
    "annotations": [{"a": "b"}, {"FOO.com/x": "!"}, {"a b": "1"}],
    "uid": ["1", "2"],
    "resourceVersion": ["1"],
    "creationTimestamp": [None, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"],
    "deletionTimestamp": [None, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"],
    "deletionGracePeriodSeconds": [0, 30, None],
}


def questions(random: Random) -> list[Question]:
    values = ["".join(random.choices(_PARTS, k=random.choice([0, 1, 2, 2, 3, 4, 8]))) for _ in range(100)]
    return [
        *(Question("name", [rule, value]) for value in values for rule in _RULES),
        *(Question("metadata", [_metadata(random), random.random() < 0.7]) for _ in range(300)),
        *(Question("metadata update", [_metadata(random), _metadata(random)]) for _ in range(300)),
    ]


def ours(about: str, given: list[Any]) -> Any:
    match about:
        case "name":
            return getattr(names, f"check_{given[0]}")(given[1])
        case "metadata":
            meta, namespaced = given
            return _listed(objectmeta.check_object_meta(meta, namespaced=namespaced, name_check=names.subdomain_name))
        case _:
            return _listed(objectmeta.check_object_meta_update(*given))


def _listed(errors: list[FieldError]) -> list[list[str]]:
    return [[error.reason.value, error.field, error.body] for error in errors]


def _metadata(random: Random) -> Object:
    meta: Object = {key: random.choice(values) for key, values in _MEMBERS.items() if random.random() < 0.5}
    if random.random() < 0.5:
        meta["ownerReferences"] = random.choices(_OWNERS, k=random.randint(0, 3))
    if random.random() < 0.5:
        meta["finalizers"] = random.choices(["a", "a/b", "orphan", "foregroundDeletion", "a b"], k=random.randint(0, 3))
    if random.random() < 0.3:
        meta["managedFields"] = [random.choice(_MANAGERS)]
    return meta
