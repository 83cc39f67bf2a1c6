from __future__ import annotations

from rayward.kube.machinery.apply import NOBODY, Owner, Owners
from rayward.kube.machinery.apply.changes import Changes
from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.owners import owner_key
from rayward.kube.machinery.apply.write import Write, fitting, owning, updated, with_owners
from tests.machinery.apply.kinds import WIDGET
from tests.machinery.apply.story import LATER, NOW

_ME = owner_key("me", "Update", "v1", "")
_WRITE = Write(WIDGET, _ME, LATER, {})
_OWNER = Owner("me", "Update", "v1", "", NOW, set_of(("f:spec", "f:image")))


def test_owners_that_are_known_to_fit_are_taken_as_they_are() -> None:
    by_key = {_ME: owning(_OWNER, set_of(("f:spec", "f:args", 'v:"a"')))}
    assert fitting(Owners(by_key, WIDGET), WIDGET) is by_key
    assert fitting(Owners(by_key), WIDGET)[_ME].fields == {"f:spec": {"f:args": {}}}


def test_no_changes_leave_the_owners_as_they_are() -> None:
    after = updated({_ME: _OWNER}, Changes({}, {}), _WRITE, "v1")
    assert list(after) == [_OWNER]
    assert after.fitted_to is WIDGET


def test_owners_of_nothing_are_dropped() -> None:
    assert updated({_ME: owning(_OWNER, {})}, Changes({}, {}), _WRITE, "v1") == NOBODY


def test_fields_that_belong_to_no_manager_are_not_taken_even_from_one_who_claims_them() -> None:
    claimed = owning(_OWNER, set_of(("f:metadata", "f:name"), ("f:spec",)))
    after = updated({_ME: claimed}, Changes(set_of(("f:metadata", "f:name")), {}), _WRITE, "v1")
    assert [each.fields for each in after] == [{"f:spec": {}}]


def test_an_object_without_owners_has_no_managed_fields() -> None:
    plain = {"metadata": {"name": "x"}}
    assert with_owners(plain, NOBODY) is plain
    assert with_owners({"metadata": {"name": "x", "managedFields": [1]}}, NOBODY) == plain
