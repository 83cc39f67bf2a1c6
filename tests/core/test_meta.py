from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.core.meta import (
    condition_of,
    controller_of,
    controller_reference,
    is_controlled_by,
    is_true,
    parse_time,
    rfc3339,
    rfc3339_micro,
    with_condition,
    without_condition,
)
from rayward.kube.core.objects import Condition, KubeObject, ObjectMeta, OwnerReference
from rayward.kube.core.resource import JOBS

NOW = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
TEXT = "2026-01-01T12:30:15Z"
OWNER = KubeObject(ObjectMeta(name="j", namespace="a", uid="u1"))


def test_a_child_names_its_owner() -> None:
    reference = controller_reference(OWNER, JOBS)
    assert reference == OwnerReference("batch/v1", "Job", "j", "u1", controller=True, block_owner_deletion=True)
    child = KubeObject(ObjectMeta(owner_references=(OwnerReference(uid="other"), reference)))
    assert controller_of(child) == reference
    assert is_controlled_by(child, OWNER)


def test_a_namesake_is_not_the_owner() -> None:
    child = KubeObject(ObjectMeta(owner_references=(controller_reference(OWNER, JOBS),)))
    assert not is_controlled_by(child, KubeObject(ObjectMeta(name="j", namespace="a", uid="u2")))
    assert not is_controlled_by(KubeObject(), OWNER)


class TestConditions:
    def test_a_new_one_is_added_at_the_end(self) -> None:
        before = (Condition("A", "True", last_transition_time="t"),)
        after = with_condition(before, Condition("B", "False", "Why"), NOW)
        assert after == (*before, Condition("B", "False", "Why", last_transition_time=TEXT))

    def test_the_time_moves_only_with_the_status(self) -> None:
        before = (Condition("A", "True", "Old", last_transition_time="t"), Condition("B"))
        same = with_condition(before, Condition("A", "True", "New", "words", observed_generation=2), NOW)
        assert same == (Condition("A", "True", "New", "words", "t", 2), Condition("B"))
        changed = with_condition(before, Condition("A", "False"), NOW)
        assert changed[0].last_transition_time == TEXT

    def test_a_missing_time_is_filled_in(self) -> None:
        assert with_condition((Condition("A", "True"),), Condition("A", "True"), NOW)[0].last_transition_time == TEXT

    def test_looking_them_up(self) -> None:
        held = (Condition("A", "True"), Condition("B", "False"))
        assert condition_of(held, "B") == held[1]
        assert (is_true(held, "A"), is_true(held, "B"), is_true(held, "C"), is_true(None, "A")) == (
            True,
            False,
            False,
            False,
        )
        assert without_condition(held, "A") == (held[1],)
        assert without_condition(None, "A") == ()

    @given(kinds=st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(["True", "False"])), max_size=20))
    def test_each_type_is_there_once_in_the_order_it_first_came(self, kinds: list[tuple[str, str]]) -> None:
        held: tuple[Condition, ...] = ()
        for kind, status in kinds:
            held = with_condition(held, Condition(kind, status), NOW)
        assert [found.type for found in held] == list(dict.fromkeys(kind for kind, _ in kinds))
        assert {found.type: found.status for found in held} == dict(kinds)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (TEXT, NOW.replace(microsecond=0)),
        ("2026-01-01T12:30:15.123456Z", NOW),
        ("2026-01-01T13:30:15+01:00", NOW.replace(microsecond=0)),
        ("2026-01-01T12:30:15", NOW.replace(microsecond=0)),
    ],
    ids=str,
)
def test_times_are_read(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment


def test_times_are_written_in_utc() -> None:
    local = NOW.astimezone(timezone(timedelta(hours=5)))
    assert (rfc3339(local), rfc3339_micro(local)) == (TEXT, "2026-01-01T12:30:15.123456Z")


def test_a_time_that_is_none() -> None:
    with pytest.raises(ValueError, match="soon"):
        parse_time("soon")
