"""Custom resource definitions: their life and what they serve."""

from __future__ import annotations

from typing import Any

from tests.contract.case import (
    NEVER_A_SERVER_ERROR,
    apply,
    bad_request_in,
    case,
    create,
    delete,
    get,
    json_patch,
    merge,
    update,
)
from tests.contract.definitions import (
    CRD,
    GROUP,
    INTEGER,
    STRING,
    WIDGETS,
    definition,
    install,
    of_spec,
    thing,
    version,
    widget,
)

_V1, _V2 = version(), version(of_spec(thing(size=INTEGER, colour=STRING, weight=INTEGER)), "v2", storage=False)
_WIDGETS_V2 = f"/apis/{GROUP}/v2/namespaces/{{ns}}/widgets"
_SCALE = {
    "scale": {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    }
}


def _established():
    return get(CRD).polled(**{"status.conditions[type=Established].status": "True"})


def _owned(version: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": "contract",
        "operation": "Update",
        "time": "<time>",
    }


CASES = [
    case(
        "a definition is filled in, accepted and established",
        create("customresourcedefinitions", definition()),
        _established(),
    ),
    case(
        "its objects: every verb",
        install(),
        create(WIDGETS, widget(spec={"size": 1})).keeping(rv="metadata.resourceVersion"),
        get(f"{WIDGETS}/w"),
        get(WIDGETS),
        update(f"{WIDGETS}/w", widget(spec={"size": 2}, resourceVersion="{rv}")),
        merge(f"{WIDGETS}/w", {"spec": {"size": 3}}),
        json_patch(f"{WIDGETS}/w", {"op": "add", "path": "/spec/colour", "value": "red"}),
        apply(f"{WIDGETS}/w", widget(spec={"size": 3})),
        delete(f"{WIDGETS}/w"),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "names: short ones, singular, list kind and categories",
        create(
            "customresourcedefinitions",
            definition(
                names={"shortNames": ["wd"], "singular": "gadget", "listKind": "Gadgets", "categories": ["all", "mine"]}
            ),
        ).only_of("spec.names"),
        get(f"/apis/{GROUP}/v1").polled(code=200),
        get(WIDGETS).polled(code=200),
    ),
    case(
        "discovery of a new group",
        install(),
        get(f"/apis/{GROUP}").polled(code=200),
        get(f"/apis/{GROUP}/v1").polled(code=200),
    ),
    case(
        "discovery with subresources",
        install(version(subresources={"status": {}, **_SCALE})),
        get(f"/apis/{GROUP}/v1").polled(code=200),
    ),
    case(
        "a cluster-wide kind",
        install(scope="Cluster"),
        create(f"/apis/{GROUP}/v1/widgets", widget(spec={"size": 1})),
        get(f"/apis/{GROUP}/v1/widgets/w"),
        get(WIDGETS),
        create(f"/apis/{GROUP}/v1/widgets", widget("x", namespace="{ns}")),
        delete(f"/apis/{GROUP}/v1/widgets/w"),
    ),
    case(
        "two versions without conversion",
        install(_V1, _V2),
        create(WIDGETS, widget(spec={"size": 1})),
        get(f"{_WIDGETS_V2}/w"),
        create(_WIDGETS_V2, widget("x", {"size": 1, "weight": 2}, "v2")),
        get(f"{WIDGETS}/x"),
        merge(f"{_WIDGETS_V2}/w", {"spec": {"weight": 7}}),
        get(f"{WIDGETS}/w"),
        get(f"/apis/{GROUP}").polled(code=200),
        differs="the real server loses all managed fields of an object when pruning removes one that was just set",
        ours={
            index: {
                "body.metadata.managedFields": [
                    _owned("v1", {"f:spec": {".": {}, "f:size": {}}}),
                    _owned("v2", {"f:spec": {"f:weight": {}}}),
                ]
            }
            for index in (6, 7)
        },
    ),
    case(
        "versions are sorted by their stability",
        create(
            "customresourcedefinitions",
            definition(
                *[
                    version(name=name, storage=name == "v1")
                    for name in ("v1alpha1", "v1", "v2", "v1beta2", "v10", "foo")
                ]
            ),
        ).only_of("kind"),
        get(f"/apis/{GROUP}").polled(**{"versions[5].version": "foo"}),
    ),
    case(
        "a version that is not served",
        create("customresourcedefinitions", definition(_V1, {**_V2, "served": False})).only_of("kind"),
        get(WIDGETS).polled(code=200).only_of("kind"),
        get(_WIDGETS_V2),
    ),
    case(
        "a deprecated version warns",
        install(version(deprecated=True)),
        create(WIDGETS, widget(spec={"size": 1})),
        get(WIDGETS).only_of("kind"),
    ),
    case(
        "a deprecated version with words of its own",
        install(version(deprecated=True, deprecationWarning="use another")),
        get(WIDGETS).only_of("kind"),
    ),
    case(
        "the storage version changes",
        install(_V1, _V2),
        create(WIDGETS, widget(spec={"size": 1})).only_of("kind"),
        json_patch(
            CRD,
            {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
            {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
        ).only_of("spec.versions[0].storage", "spec.versions[1].storage", "metadata.generation"),
        get(CRD).polled(**{"status.storedVersions[1]": "v2"}).only_of("status.storedVersions"),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "a stored version cannot be removed",
        install(_V1, _V2),
        merge(CRD, {"spec": {"versions": [{**_V2, "storage": True}]}}),
    ),
    case(
        "a status subresource",
        install(version(subresources={"status": {}})),
        create(WIDGETS, {**widget(spec={"size": 1}), "status": {"x": 1}}),
        merge(f"{WIDGETS}/w/status", {"spec": {"size": 9}, "status": {"x": 2}}),
        merge(f"{WIDGETS}/w", {"status": {"x": 3}, "spec": {"size": 2}}),
        get(f"{WIDGETS}/w/status"),
    ),
    case(
        "no status subresource: generation follows everything",
        install(),
        create(WIDGETS, {**widget(spec={"size": 1}), "status": {"x": 1}}),
        merge(f"{WIDGETS}/w", {"status": {"x": 2}}),
        merge(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}}),
        get(f"{WIDGETS}/w/status"),
        merge(f"{WIDGETS}/w/status", {"status": {}}),
    ),
    case(
        "a scale subresource",
        install(version(subresources={"status": {}, **_SCALE})),
        create(WIDGETS, widget(spec={"size": 1})),
        merge(f"{WIDGETS}/w/status", {"status": {"size": 4, "selector": "a=b"}}).only_of("status"),
        get(f"{WIDGETS}/w/scale").keeping(rv="metadata.resourceVersion"),
        update(
            f"{WIDGETS}/w/scale",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "w", "namespace": "{ns}", "resourceVersion": "{rv}"},
                "spec": {"replicas": 3},
            },
        ),
        merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 2}}),
        merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": -1}}),
        get(f"{WIDGETS}/w"),
    ),
    case(
        "a scale of an object without the field",
        install(version(subresources=_SCALE)),
        create(WIDGETS, widget(spec={})),
        get(f"{WIDGETS}/w/scale"),
        merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": 2}}),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(3),
    ),
    case(
        "deletion of a definition deletes its objects",
        install(),
        create(WIDGETS, widget(spec={})).only_of("kind"),
        delete(CRD),
        get(WIDGETS).polled(code=404),
        get(CRD).polled(code=404),
    ),
    case(
        "deletion of a definition waits for finalizers",
        install(),
        create(WIDGETS, widget(spec={}, finalizers=["example.com/hold"])).only_of("kind"),
        delete(CRD).only_of("metadata.finalizers"),
        get(f"{WIDGETS}/w")
        .polled(**{"metadata.deletionGracePeriodSeconds": 0})
        .only_of("metadata.finalizers", "metadata.generation"),
        create(WIDGETS, widget("x", {})),
        merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}}).only_of("kind"),
        get(CRD).polled(code=404),
    ),
    case(
        "a definition made again after deletion",
        install(),
        delete(CRD).only_of("kind"),
        get(CRD).polled(code=404),
        install(),
    ),
    case(
        "another definition of the same kind is not accepted",
        install(),
        create(
            "customresourcedefinitions",
            {**definition(names={"plural": "gizmos"}), "metadata": {"name": f"gizmos.{GROUP}"}},
        ).only_of("kind"),
        get(f"customresourcedefinitions/gizmos.{GROUP}")
        .polled(**{"status.conditions[type=NamesAccepted].status": "False"})
        .only_of(
            "status.conditions[type=NamesAccepted]", "status.conditions[type=Established]", "status.acceptedNames"
        ),
    ),
    case(
        "group, scope, kind and plural do not change",
        install(),
        merge(CRD, {"spec": {"scope": "Cluster"}}),
        merge(CRD, {"spec": {"group": "other.example.com"}}),
        merge(CRD, {"spec": {"names": {"plural": "gizmos"}}}),
        merge(CRD, {"spec": {"names": {"kind": "Gizmo"}}}),
    ),
    case(
        "a definition applied from the server's side",
        apply(CRD, definition()).only_of("kind", "metadata.name", "metadata.generation", "spec"),
        apply(CRD, definition(names={"shortNames": ["wd"]})).only_of("metadata.generation", "spec.names"),
    ),
    case(
        "a definition's own status",
        install(),
        merge(f"{CRD}/status", {"status": {"storedVersions": ["v1", "v0"]}}),
        get(f"{CRD}/status").only_of("status.storedVersions"),
    ),
    case(
        "a dry run of a definition",
        create("customresourcedefinitions", definition(), dryRun="All").only_of("kind", "status"),
        get(CRD),
    ),
]
