from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.apply import updater
from rayward.kube.machinery.apply.changes import compare
from rayward.kube.machinery.apply.fieldset import FieldSet, covers, difference, set_of, union
from rayward.kube.machinery.apply.mention import mentioned, present
from rayward.kube.machinery.apply.naming import named
from rayward.kube.machinery.apply.updater import ConflictError, apply, update
from rayward.kube.machinery.apply.values import same
from tests.machinery.apply.kinds import WIDGET
from tests.machinery.apply.strategies import CONFIGS, FULL_CONFIGS, MANAGERS, OBJECTS

_STATUS = set_of(("f:status",))


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def owned(*paths: tuple[str, ...]) -> FieldSet:
    return set_of(*(("f:spec", *path) for path in paths))


class Object:
    """An object and the names of those who own it."""

    def __init__(self, *, reset: FieldSet | None = None) -> None:
        self.live: Any = {}
        self.owners: dict[str, FieldSet] = {}
        self._reset = reset or {}

    def apply(self, manager: str, config: Any, *, force: bool = False) -> Object:
        self.live, self.owners = apply(self.live, config, WIDGET, self.owners, manager, force=force, reset=self._reset)
        return self

    def update(self, manager: str, new: Any) -> Object:
        self.owners = update(self.live, new, WIDGET, self.owners, manager, self._reset)
        self.live = new
        return self


class TestWhatFollows:
    """The rules of server-side apply that people rely on, by name."""

    def test_dropping_a_field_i_own_alone_deletes_it(self) -> None:
        obj = Object().apply("me", spec(image="a", replicas=1)).apply("me", spec(image="a"))
        assert obj.live == spec(image="a")
        assert obj.owners == {"me": owned(("f:image",))}

    @pytest.mark.parametrize("other", ["applier", "updater"])
    def test_dropping_a_field_that_another_owns_too_only_ends_my_claim(self, other: str) -> None:
        obj = Object()
        if other == "applier":
            obj.apply("me", spec(image="a", replicas=1)).apply("other", spec(replicas=1))
        else:
            obj.update("other", spec(replicas=1)).apply("me", spec(image="a", replicas=1))
        obj.apply("me", spec(image="a"))
        assert obj.live == spec(image="a", replicas=1)
        assert covers(obj.owners["other"], owned(("f:replicas",)))
        assert obj.owners["me"] == owned(("f:image",))

    def test_applying_the_same_value_shares_it(self) -> None:
        obj = Object().apply("me", spec(image="a")).apply("you", spec(image="a"))
        assert obj.owners == {"me": owned(("f:image",)), "you": owned(("f:image",))}

    @pytest.mark.parametrize("first", ["apply", "update"])
    def test_changing_a_value_of_another_is_a_conflict(self, first: str) -> None:
        obj = Object()
        getattr(obj, first)("you", spec(image="a"))
        before = repr((obj.live, obj.owners))
        with pytest.raises(ConflictError) as caught:
            obj.apply("me", spec(image="b"))
        assert caught.value.fields == {"you": owned(("f:image",))}
        assert repr((obj.live, obj.owners)) == before

    def test_force_takes_it(self) -> None:
        obj = Object().apply("you", spec(image="a", replicas=1)).apply("me", spec(image="b"), force=True)
        assert obj.live == spec(image="b", replicas=1)
        assert obj.owners == {"you": owned(("f:replicas",)), "me": owned(("f:image",))}

    def test_an_owner_who_lost_everything_is_gone(self) -> None:
        obj = Object().apply("you", spec(image="a")).apply("me", spec(image="b"), force=True)
        assert set(obj.owners) == {"me"}

    def test_an_update_takes_what_it_changes_and_never_asks(self) -> None:
        obj = Object().apply("you", spec(image="a", replicas=1)).update("me", spec(image="b", replicas=1))
        assert obj.owners == {"you": owned(("f:replicas",)), "me": owned(("f:image",))}

    def test_an_update_that_removes_a_field_ends_every_claim_to_it(self) -> None:
        obj = Object().apply("a", spec(image="x", replicas=1)).apply("b", spec(image="x")).update("c", spec(replicas=1))
        assert obj.owners == {"a": owned(("f:replicas",))}

    def test_an_item_goes_with_its_last_owner(self) -> None:
        obj = Object().apply("me", spec(parts=[{"name": "x", "size": 1}, {"name": "y"}]))
        obj.apply("me", spec(parts=[{"name": "y"}]))
        assert obj.live == spec(parts=[{"name": "y"}])

    def test_an_item_stays_while_another_owns_any_field_in_it(self) -> None:
        obj = Object().apply("me", spec(parts=[{"name": "x", "size": 1}]))
        obj.apply("you", spec(parts=[{"name": "x", "image": "a"}])).apply("me", {"spec": {}})
        assert obj.live == spec(parts=[{"name": "x", "image": "a"}])

    def test_an_item_goes_though_an_update_put_a_field_into_it(self) -> None:
        obj = Object().apply("me", spec(parts=[{"name": "x"}]))
        obj.update("you", spec(parts=[{"name": "x", "image": "a"}])).apply("me", spec(replicas=1))
        assert obj.live == spec(parts=None, replicas=1)
        assert set(obj.owners) == {"me"}

    def test_what_nobody_owned_is_not_deleted(self) -> None:
        obj = Object()
        obj.live = spec(image="a")
        obj.apply("me", spec(replicas=1, paused=True)).apply("me", spec(paused=True))
        assert obj.live == spec(image="a", paused=True)

    def test_an_atomic_list_changes_hands_as_a_whole(self) -> None:
        obj = Object().apply("you", spec(args=["a", "b"]))
        with pytest.raises(ConflictError):
            obj.apply("me", spec(args=["a"]))
        assert obj.apply("me", spec(args=["a"]), force=True).live == spec(args=["a"])
        assert obj.owners == {"me": owned(("f:args",))}

    def test_items_of_a_set_are_owned_one_by_one(self) -> None:
        obj = (
            Object().apply("a", spec(hosts=["x", "y"])).apply("b", spec(hosts=["y", "z"])).apply("a", spec(hosts=["x"]))
        )
        assert obj.live == spec(hosts=["x", "y", "z"])
        assert obj.apply("b", spec(hosts=["z"])).live == spec(hosts=["x", "z"])

    def test_items_with_a_default_key_are_the_same_item(self) -> None:
        obj = Object().apply("a", spec(ports=[{"port": 80, "name": "web"}]))
        obj.apply("b", spec(ports=[{"port": 80, "protocol": "TCP"}]))
        assert obj.live == spec(ports=[{"port": 80, "name": "web", "protocol": "TCP"}])

    def test_fields_that_the_endpoint_resets_are_never_owned_and_never_in_conflict(self) -> None:
        obj = Object(reset=_STATUS).apply("a", {"status": {"ready": 1}}).apply("b", {"status": {"ready": 2}})
        assert obj.owners == {}
        obj.update("c", {"status": {"ready": 3}})
        assert obj.owners == {}

    def test_duplicates_of_an_update_stay_until_an_applier_names_the_item(self) -> None:
        twice = [{"name": "x", "size": 1}, {"name": "x", "size": 2}]
        obj = Object().update("u", spec(parts=twice)).apply("me", spec(replicas=1))
        assert obj.live == spec(parts=twice, replicas=1)
        obj.apply("me", spec(replicas=1, parts=[{"name": "x", "size": 3}]), force=True)
        assert obj.live == spec(parts=[{"name": "x", "size": 3}], replicas=1)


def _pruned_the_long_way(live: Any, config: Any, owners: dict[str, FieldSet], me: str) -> Any:
    """What an apply gives when nothing is known in advance about what may go."""
    merged = updater.merge(live, config, WIDGET)
    last = owners.get(me, {})
    if not last:
        return merged
    return updater._pruned(merged, WIDGET, last, {**owners, me: mentioned(config, WIDGET)})


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), MANAGERS, CONFIGS),
        st.tuples(st.just("update"), MANAGERS, OBJECTS),
    ),
    max_size=5,
)


def _played(steps: list[tuple[str, str, Any]]) -> Object:
    obj = Object()
    for verb, manager, body in steps:
        if verb == "apply":
            obj.apply(manager, body, force=True)
        else:
            obj.update(manager, body)
    return obj


@given(_STEPS, MANAGERS, CONFIGS)
def test_an_apply_says_what_it_applied(steps: list[Any], me: str, config: Any) -> None:
    obj = _played(steps)
    before = repr((obj.live, obj.owners, config))
    live, owners = apply(obj.live, config, WIDGET, obj.owners, me, force=True)
    mine = mentioned(config, WIDGET)
    assert owners.get(me, {}) == mine
    assert covers(present(live, WIDGET), _shown(mine, config))
    assert not any(not fields for fields in owners.values())
    assert repr((obj.live, obj.owners, config)) == before


def _shown(mine: FieldSet, config: Any) -> FieldSet:
    """What of the applied fields must be in the result: null and empty ones yield to what is there."""
    return difference(named(mine, WIDGET), set_of(*_yielding(config, ())))


def _yielding(value: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    if isinstance(value, dict):
        for name, inner in value.items():
            below = (*path, "f:" + name)
            if inner is None or inner == {} or inner == []:
                found.append(below)
            found += _yielding(inner, below)
    return found


@given(_STEPS, MANAGERS, FULL_CONFIGS)
def test_applying_twice_changes_nothing_more(steps: list[Any], me: str, config: Any) -> None:
    obj = _played(steps).apply(me, config, force=True)
    live, owners = obj.live, obj.owners
    obj.apply(me, config)
    assert same(obj.live or None, live or None)
    assert obj.owners == owners


@given(_STEPS, MANAGERS, CONFIGS)
def test_no_conflict_where_nothing_of_others_changes(steps: list[Any], me: str, config: Any) -> None:
    obj = _played(steps)
    try:
        live, _ = apply(obj.live, config, WIDGET, obj.owners, me)
    except ConflictError as conflict:
        forced, _ = apply(obj.live, config, WIDGET, obj.owners, me, force=True)
        changed = compare(obj.live, forced, WIDGET).changed
        for owner, fields in conflict.fields.items():
            assert owner != me
            assert covers(obj.owners[owner], fields)
            assert covers(changed, fields)
    else:
        changed = compare(obj.live, live, WIDGET).changed
        for owner, fields in obj.owners.items():
            assert owner == me or difference(fields, changed) == fields


@given(_STEPS, MANAGERS, CONFIGS)
def test_the_short_way_prunes_as_the_long_way_does(steps: list[Any], me: str, config: Any) -> None:
    obj = _played(steps)
    expected = _pruned_the_long_way(obj.live, config, obj.owners, me)
    live, _ = apply(obj.live, config, WIDGET, obj.owners, me, force=True)
    assert same(live or None, expected or None)


@given(_STEPS, MANAGERS, OBJECTS)
def test_an_update_never_conflicts_and_owns_what_it_changed(steps: list[Any], me: str, new: Any) -> None:
    obj = _played(steps)
    owners = update(obj.live, new, WIDGET, obj.owners, me)
    changes = compare(obj.live, new, WIDGET)
    assert covers(owners.get(me, {}), changes.changed)
    everyone: FieldSet = {}
    for owner, fields in owners.items():
        everyone = union(everyone, fields)
        if owner != me:
            assert covers(obj.owners[owner], fields)
            assert difference(fields, changes.changed) == fields
    assert covers(everyone, changes.changed)
