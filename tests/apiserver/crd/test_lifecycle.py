"""Which names a CRD gets, and its conditions."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.crd.lifecycle import decide, terminating

_NOW = "2026-01-01T00:00:00Z"


def _crd(
    plural: str = "widgets", kind: str = "Widget", status: dict[str, Any] | None = None, **names: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names},
        },
        "status": status or {},
    }


def _conditions(status: dict[str, Any] | None) -> dict[str, tuple[str, str]]:
    assert status is not None
    return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}


def test_free_names_are_accepted_and_the_crd_is_established() -> None:
    status = decide(_crd(shortNames=["wd"]), [], _NOW)
    assert _conditions(status) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert status is not None
    assert status["acceptedNames"]["shortNames"] == ["wd"]


def test_an_established_crd_needs_nothing() -> None:
    crd = _crd()
    crd["status"] = decide(crd, [], _NOW)
    assert decide(crd, [crd], _NOW) is None


def test_a_taken_kind_is_refused_and_the_rest_accepted() -> None:
    first = _crd()
    first["status"] = decide(first, [], _NOW)
    second = _crd(plural="gadgets", kind="Widget", singular="gadget")
    status = decide(second, [first, second], _NOW)
    assert _conditions(status) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert status is not None
    assert status["acceptedNames"] == {"plural": "gadgets", "singular": "gadget", "kind": ""}


def test_a_freed_name_is_taken_by_who_waits() -> None:
    first = _crd()
    first["status"] = decide(first, [], _NOW)
    second = _crd(plural="gadgets", kind="Widget", singular="gadget")
    second["status"] = decide(second, [first], _NOW)
    assert _conditions(decide(second, [], _NOW))["Established"] == ("True", "InitialNamesAccepted")


def test_names_of_another_group_do_not_clash() -> None:
    other = _crd()
    other["spec"]["group"] = "other.com"
    other["status"] = decide(other, [], _NOW)
    assert _conditions(decide(_crd(), [other], _NOW))["NamesAccepted"][0] == "True"


def test_a_crd_that_goes_is_left_alone() -> None:
    crd = _crd()
    crd["metadata"]["deletionTimestamp"] = _NOW
    assert decide(crd, [], _NOW) is None


def test_a_crd_asked_to_go_is_held_until_its_objects_are_gone() -> None:
    crd = terminating(_crd(), _NOW)
    assert crd["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert _conditions(crd["status"]) == {"Terminating": ("True", "InstanceDeletionPending")}
