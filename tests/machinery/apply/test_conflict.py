from __future__ import annotations

from rayward.kube.machinery.apply import ApplyConflict, Cause
from rayward.kube.machinery.apply.conflict import identifier
from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.owners import owner_key

_APPLIER = owner_key("bob", "Apply", "v1", "")
_UPDATER = owner_key("kubectl-edit", "Update", "apps/v1", "")
_SCALER = owner_key("scaler", "Update", "apps/v1", "scale")
_REPLICAS = ("f:spec", "f:replicas")
_IMAGE = ("f:spec", "f:containers", 'k:{"name":"x"}', "f:image")


def test_one_conflict_with_an_applier() -> None:
    conflict = ApplyConflict({_APPLIER: set_of(_REPLICAS)})
    assert conflict.message == str(conflict) == 'Apply failed with 1 conflict: conflict with "bob": .spec.replicas'
    assert conflict.causes == (Cause('conflict with "bob"', ".spec.replicas"),)


def test_updaters_are_shown_with_their_version() -> None:
    conflict = ApplyConflict({_UPDATER: set_of(_IMAGE)})
    assert conflict.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-edit" using apps/v1: .spec.containers[name="x"].image'
    )


def test_writers_to_a_subresource_are_shown_with_it() -> None:
    conflict = ApplyConflict({_SCALER: set_of(_REPLICAS)})
    assert conflict.causes == (
        Cause('conflict with "scaler" with subresource "scale" using apps/v1', ".spec.replicas"),
    )


def test_several_conflicts_are_grouped_by_manager() -> None:
    conflict = ApplyConflict({_UPDATER: set_of(_REPLICAS), _APPLIER: set_of(_IMAGE, _REPLICAS)})
    assert conflict.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "bob":\n'
        "- .spec.replicas\n"
        '- .spec.containers[name="x"].image\n'
        'conflicts with "kubectl-edit" using apps/v1:\n'
        "- .spec.replicas"
    )
    assert [cause.field for cause in conflict.causes] == [
        ".spec.replicas",
        '.spec.containers[name="x"].image',
        ".spec.replicas",
    ]


def test_identifiers_are_kubernetes_own() -> None:
    assert identifier(_APPLIER) == '{"manager":"bob","operation":"Apply"}'
    assert identifier(_SCALER) == (
        '{"manager":"scaler","operation":"Update","apiVersion":"apps/v1","subresource":"scale"}'
    )
