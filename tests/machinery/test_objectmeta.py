"""Metadata is checked as kube-apiserver checks it, in its order and words."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery import names, objectmeta

Object = dict[str, Any]

OWNER: Object = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}
STORED: Object = {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "5", "generation": 2}


def texts_on_create(meta: Object, *, namespaced: bool = True, **options: Any) -> list[str]:
    errors = objectmeta.check_object_meta(meta, namespaced=namespaced, name_check=names.subdomain_name, **options)
    return [str(error) for error in errors]


def texts_on_update(changes: Object, **options: Any) -> list[str]:
    new = {key: value for key, value in {**STORED, **changes}.items() if value is not ...}
    return [str(error) for error in objectmeta.check_object_meta_update(new, STORED, **options)]


def test_good_metadata_has_no_errors():
    meta: Object = {
        "name": "a.b",
        "namespace": "n",
        "generateName": "a-",
        "labels": {"example.com/app": "web", "tier": ""},
        "annotations": {"Example.com/Note": "anything, of any shape"},
        "finalizers": ["example.com/wait"],
        "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "2", "controller": False}],
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1"}],
    }
    assert texts_on_create(meta) == []


@pytest.mark.parametrize(
    ("meta", "beginnings"),
    [
        ({"namespace": "n"}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "a"}, ["metadata.namespace: Required value"]),
        ({"name": "a", "namespace": "a.b"}, ['metadata.namespace: Invalid value: "a.b": must not contain dots']),
        (
            {"name": "A", "namespace": "n", "generateName": "AB-"},
            [
                'metadata.generateName: Invalid value: "AB-": a lowercase RFC 1123 subdomain must consist of',
                'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of',
            ],
        ),
        (
            {"name": "a", "namespace": "n", "generation": -1},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"name": "a", "namespace": "n", "labels": {"a b": "-"}},
            [
                'metadata.labels: Invalid value: "a b": name part must consist of',
                'metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of',
            ],
        ),
        (
            {"name": "a", "namespace": "n", "annotations": {"a/b/c": "", "big": "x" * 256 * 1024}},
            [
                'metadata.annotations: Invalid value: "a/b/c": a valid label key must consist of',
                "metadata.annotations: Too long: may not be more than 262144 bytes",
            ],
        ),
        (
            {"name": "a", "namespace": "n", "ownerReferences": [{"apiVersion": "a/b/c"}]},
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
                'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
                'metadata.ownerReferences.name: Invalid value: "": must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"name": "a", "namespace": "n", "ownerReferences": [{**OWNER, "kind": "Event", "name": "<e>"}]},
            [
                (
                    "metadata.ownerReferences: Invalid value: "
                    r'{"apiVersion":"v1","kind":"Event","name":"\u003ce\u003e","uid":"1"}: '
                    "/v1, Kind=Event is disallowed from being an owner"
                )
            ],
        ),
        (
            {
                "name": "a",
                "namespace": "n",
                "ownerReferences": [
                    {**OWNER, "controller": True, "blockOwnerDeletion": True},
                    {**OWNER, "name": "b", "uid": "2", "controller": True},
                ],
            },
            [
                (
                    "metadata.ownerReferences: Invalid value: "
                    '[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1","controller":true,"blockOwnerDeletion":true},'
                    '{"apiVersion":"v1","kind":"Pod","name":"b","uid":"2","controller":true}]: '
                    'Only one reference can have Controller set to true. Found "true" in references for Pod/a and Pod/b'
                )
            ],
        ),
        (
            {"name": "a", "namespace": "n", "finalizers": ["a b"]},
            ['metadata.finalizers: Invalid value: "a b": name part must consist of'],
        ),
        (
            {"name": "a", "namespace": "n", "finalizers": ["orphan", "foregroundDeletion"]},
            [
                (
                    'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                    "finalizer orphan and foregroundDeletion cannot be both set"
                )
            ],
        ),
        (
            {
                "name": "a",
                "namespace": "n",
                "managedFields": [
                    {"operation": "Steal", "fieldsType": "V2", "manager": "m" * 129, "subresource": "s" * 257}
                ],
            },
            [
                'metadata.managedFields[0].operation: Invalid value: "Steal": must be `Apply` or `Update`',
                'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
                "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
                "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ],
        ),
    ],
    ids=[
        "no name",
        "no namespace",
        "bad namespace",
        "bad name and prefix",
        "negative generation",
        "labels",
        "annotations",
        "incomplete owner",
        "an event as owner",
        "two controllers",
        "finalizer",
        "contradicting finalizers",
        "managed fields",
    ],
)
def test_bad_metadata_is_refused_on_create(meta: Object, beginnings: list[str]):
    texts = texts_on_create(meta)
    assert [text[: len(beginning)] for text, beginning in zip(texts, beginnings, strict=True)] == beginnings


def test_a_cluster_wide_object_has_no_namespace():
    assert texts_on_create({"name": "a"}, namespaced=False) == []
    assert texts_on_create({"name": "a", "namespace": "n"}, namespaced=False) == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


def test_built_in_kinds_take_only_known_or_qualified_finalizers():
    meta: Object = {"name": "a", "namespace": "n", "finalizers": ["kubernetes", "example.com/x", "mine"]}
    assert texts_on_create(meta) == []
    refused = [
        (
            'metadata.finalizers[2]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully '
            "qualified"
        )
    ]
    assert texts_on_create(meta, kube_finalizers=True) == refused
    assert texts_on_update(meta, kube_finalizers=True) == refused


def test_a_path_may_be_given():
    assert texts_on_create({"namespace": "n"}, path="spec.template.metadata") == [
        "spec.template.metadata.name: Required value: name or generateName is required"
    ]


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, []),
        ({"labels": {"a": "b"}, "generation": 3}, []),
        ({"resourceVersion": ...}, ['metadata.resourceVersion: Invalid value: "": must be specified for an update']),
        ({"generation": 1}, ["metadata.generation: Invalid value: 1: must not be decremented"]),
        ({"name": "b"}, ['metadata.name: Invalid value: "b": field is immutable']),
        ({"namespace": ...}, ['metadata.namespace: Invalid value: "": field is immutable']),
        ({"uid": "2"}, ['metadata.uid: Invalid value: "2": field is immutable']),
        (
            {"creationTimestamp": "2024-01-01T00:00:00Z"},
            ['metadata.creationTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable'],
        ),
        ({"creationTimestamp": None}, []),
        (
            {"deletionGracePeriodSeconds": 0},
            ["metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable"],
        ),
        ({"finalizers": ["not qualified"]}, []),
    ],
    ids=[
        "nothing changed",
        "free fields",
        "no resource version",
        "generation back",
        "name",
        "namespace",
        "uid",
        "creation",
        "null is unset",
        "zero is a value",
        "finalizers are not checked again",
    ],
)
def test_what_an_update_may_not_change(changes: Object, texts: list[str]):
    assert texts_on_update(changes) == texts


def test_a_moment_may_be_written_differently():
    old: Object = {**STORED, "creationTimestamp": "2024-01-01T00:00:00Z"}
    new: Object = {**STORED, "creationTimestamp": "2024-01-01T02:00:00+02:00"}
    assert objectmeta.check_object_meta_update(new, old) == []


def test_finalizers_only_go_while_an_object_is_being_deleted():
    dying: Object = {**STORED, "deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b", "c/d"]}
    assert objectmeta.check_object_meta_update({**dying, "finalizers": ["a/b"]}, dying) == []
    (error,) = objectmeta.check_object_meta_update({**dying, "finalizers": ["z/z", "c/d", "e/e"]}, dying)
    assert str(error) == (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"e/e", "z/z"}'
    )


@pytest.mark.parametrize(
    ("manager", "details"),
    [
        ("kubectl-client-side-apply", []),
        ("é", []),
        ("a\nb\x07", ["invalid character U+000A (at position 1)", "invalid character U+0007 (at position 3)"]),
        ("é\t", ["invalid character U+0009 (at position 2)"]),
        ("m" * 129, ["may not be more than 128 bytes"]),
    ],
    ids=["plain", "any printable", "control characters", "positions count bytes", "too long"],
)
def test_field_managers_are_short_and_printable(manager: str, details: list[str]):
    assert [error.detail for error in objectmeta.check_field_manager(manager)] == details
