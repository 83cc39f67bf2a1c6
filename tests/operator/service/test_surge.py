"""A new user_config for the only replica of a deployment: which are surged, what is sent, and what ends it."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.operator.service.decide import decide
from rayward.operator.service.serveconfig import Surge, config_hash, deploy_key, deploy_text, user_configs
from rayward.operator.service.state import (
    RUNNING,
    AnnotationChange,
    Application,
    ChildCluster,
    Decision,
    Failure,
    Policy,
    Release,
    ServeState,
    State,
)
from tests.operator.service.world import START, annotated

_ONLY = frozenset({("app", "D")})
_SECONDS = timedelta(seconds=10)
_SOON = Policy(start_timeout=timedelta(seconds=5))


def text(path: str = "app:one", **deployment: Any) -> str:
    apps = [{"name": "app", "import_path": path, "deployments": [{"name": "D", **deployment}]}]
    return msgspec.json.encode({"applications": apps}).decode()


FIRST = text(user_config={"word": "a"})
SECOND = text(user_config={"word": "b"})
THIRD = text(user_config={"word": "c"})


def release(config: str) -> Release:
    return Release("cluster-a", config_hash(config), frozenset(), user_configs(config))


def surges(**limits: int) -> dict[str, frozenset[Surge]]:
    named = {"first": FIRST, "second": SECOND, "third": THIRD}
    return {config_hash(named[name]): frozenset({Surge("app", "D", limit)}) for name, limit in limits.items()}


def cluster(
    config: str = FIRST, good: str = FIRST, *, lone: frozenset[tuple[str, str]] = _ONLY, **fields: Any
) -> ChildCluster:
    """One that serves; where its config is not the one that last ran, its replicas are on their way."""
    app = Application("app", RUNNING if config == good else "DEPLOYING")
    whole = ChildCluster(
        "c1", "cluster-a", config_hash(config), good_config=config_hash(good), created=START, promoted=True,
        head_ready=True, ready_pods=1, endpoints=1, serve=ServeState(config_hash(config), (app,)),
        applications=frozenset({"app"}), progressed_at=START, user_configs=user_configs(good), lone=lone,
        started_in=timedelta(seconds=2),
    )  # fmt: skip
    return dataclasses.replace(whole, **fields)


def decided(
    active: ChildCluster, wanted: str, *, at: datetime = START, policy: Policy = _SOON, failure: Failure | None = None
) -> Decision:
    return decide(State(release(wanted), policy, (active,), "c1", failure), at)


def change(decision: Decision) -> AnnotationChange:
    (found,) = decision.annotate
    return found


@pytest.mark.parametrize(
    ("wanted", "fields", "policy"),
    [
        pytest.param(SECOND, {"lone": frozenset[tuple[str, str]]()}, _SOON, id="several replicas"),
        pytest.param(SECOND, {}, dataclasses.replace(_SOON, reconfigures=True), id="asked for in place"),
        pytest.param(text(user_config={"word": "a"}, max_ongoing_requests=7), {}, _SOON, id="no other user_config"),
        pytest.param(text("app:two", user_config={"word": "b"}), {}, _SOON, id="other code: replaced anyway"),
        pytest.param(text(user_config={"word": "b"}, max_replicas_per_node=1), {}, _SOON, id="a limit of its own"),
        pytest.param(text(user_config={"word": "b"}, placement_group_bundles=[{"CPU": 1}]), {}, _SOON, id="bundles"),
        pytest.param(text(user_config={"word": "b"}, max_surge_percent=0), {}, _SOON, id="no surge wanted"),
    ],
)
def test_what_is_given_to_the_replicas_as_ray_does(wanted: str, fields: dict[str, Any], policy: Policy) -> None:
    code = dataclasses.replace(policy, code_in_place=True)
    found = change(decided(cluster(**fields), wanted, policy=code))
    assert found.config == config_hash(wanted)
    assert found.surges is None


def test_another_replica_is_started_of_the_only_one_that_gets_another_user_config() -> None:
    found = change(decided(cluster(), SECOND))
    assert (found.config, found.surges) == (config_hash(SECOND), surges(second=100))
    assert change(decided(cluster(), text())).surges == {config_hash(text()): frozenset({Surge("app", "D", 100)})}


def test_what_is_sent_is_the_config_with_a_limit_that_ray_takes_for_another_version() -> None:
    decision = decided(cluster(SECOND, FIRST, surges=surges(second=100)), SECOND)
    (target,) = decision.serve_configs
    assert target.key != deploy_key(config_hash(SECOND), 0)
    sent = msgspec.json.decode(deploy_text(SECOND, 0, target.surges))
    assert sent["applications"][0]["deployments"] == [
        {"name": "D", "user_config": {"word": "b"}, "max_surge_percent": 100, "max_replicas_per_node": 100}
    ]
    without = '{"applications":[{"name":"app"}]}'
    assert msgspec.json.decode(deploy_text(without, 0, target.surges))["applications"][0]["deployments"] == [
        {"name": "D", "max_surge_percent": 100, "max_replicas_per_node": 100}
    ]


def test_the_next_config_keeps_the_limit_or_gets_another_one() -> None:
    runs = cluster(SECOND, SECOND, surges=surges(first=99, second=100))
    same = text(user_config={"word": "b"}, max_ongoing_requests=7)
    kept = change(decided(runs, same)).surges
    assert kept == surges(second=100) | {config_hash(same): frozenset({Surge("app", "D", 100)})}
    assert change(decided(runs, THIRD)).surges == surges(second=100, third=99)
    code = dataclasses.replace(_SOON, code_in_place=True)
    assert change(decided(runs, text("app:two"), policy=code)).surges == surges(second=100)


def test_a_third_config_gets_a_limit_that_the_replica_on_its_way_has_not() -> None:
    moving = cluster(SECOND, FIRST, surges=surges(first=100, second=99))
    assert change(decided(moving, THIRD)).surges == surges(first=100, third=98)


def test_a_revert_sends_the_former_config_with_the_former_limit() -> None:
    moving = cluster(SECOND, FIRST, surges=surges(first=100, second=99))
    found = change(decided(moving, FIRST))
    assert (found.config, found.surges) == (config_hash(FIRST), surges(first=100))


def test_a_replica_that_does_not_start_is_given_up_while_the_former_answers() -> None:
    moving = cluster(SECOND, FIRST, surges=surges(second=100))
    assert decided(moving, SECOND, at=START + timedelta(seconds=14)).failure is None
    late = decided(moving, SECOND, at=START + timedelta(seconds=15))
    assert late.failure is not None
    assert late.failure.reason == "ReplicasNotStarted"
    assert "no replica of deployment D has started with the new user_config within 5 s" in late.failure.message
    assert change(late).config == config_hash(FIRST)
    assert late.create is None, "the former replica goes on"
    assert decided(cluster(SECOND, FIRST), SECOND, at=START + timedelta(seconds=15)).failure is None, "not surged"


def test_one_that_raises_is_given_up_at_once() -> None:
    raised = "Retrying 2 more time(s). Error:\nTraceback (most recent call last):\nKeyError: 'word'"
    serve = ServeState(config_hash(SECOND), (Application("app", "DEPLOYING", raised),))
    found = decided(cluster(SECOND, FIRST, surges=surges(second=100), serve=serve), SECOND)
    assert found.failure is not None
    assert "KeyError: 'word'" in found.failure.message
    assert config_hash(FIRST) in [each.config for each in found.annotate]


def test_without_room_for_another_replica_the_one_that_serves_gets_the_config() -> None:
    moving = cluster(SECOND, FIRST, surges=surges(first=99, second=100), crowded_out=_ONLY)
    early = decided(moving, SECOND, at=START + timedelta(seconds=9))
    assert early.requeue_at == START + timedelta(seconds=10)
    assert all(each.surges is None for each in early.annotate)
    found = change(decided(moving, SECOND, at=START + timedelta(seconds=10)))
    assert found.surges == surges(first=99, second=99)
    assert found.config is None
    plain = cluster(SECOND, FIRST, surges=surges(second=100), crowded_out=_ONLY)
    reconfigured = change(decided(plain, SECOND, at=START + timedelta(seconds=10))).surges
    assert reconfigured == {config_hash(FIRST): frozenset()} | surges(second=0)
    sent = msgspec.json.decode(deploy_text(SECOND, 0, surges(second=0)[config_hash(SECOND)]))
    assert sent["applications"][0]["deployments"] == [
        {"name": "D", "user_config": {"word": "b"}, "max_surge_percent": 100}
    ]
    assert decided(dataclasses.replace(plain, surges=surges(second=0)), SECOND).requeue_at != START + _SECONDS


def test_what_was_given_up_stays_so() -> None:
    former = cluster(FIRST, FIRST, surges=surges(first=100, second=99))
    failure = Failure("ReplicasNotStarted", "gone")
    decision = decided(former, SECOND, failure=failure)
    assert decision.failure == failure
    assert all(each.config is None for each in decision.annotate)


def test_an_operator_that_has_asked_no_dashboard_yet_sends_no_other_user_config() -> None:
    fresh = cluster(serve=None, lone=frozenset())
    decision = decided(fresh, SECOND)
    assert all(each.config is None for each in decision.annotate)
    assert change(decided(dataclasses.replace(fresh, endpoints=0), SECOND)).config == config_hash(SECOND)


@given(st.lists(st.sampled_from([FIRST, SECOND, THIRD, "runs", "fails"]), max_size=12))
def test_whatever_is_edited_no_replica_that_answers_is_reconfigured_or_replaced_by_what_is_taken_back(
    acts: list[str],
) -> None:
    active, wanted = cluster(), FIRST
    texts = {config_hash(each): each for each in (FIRST, SECOND, THIRD)}
    for act in acts:
        if act == "runs":
            active = dataclasses.replace(
                active, good_config=active.config, user_configs=user_configs(texts[active.config])
            )
            continue
        before, sent = active.surges.get(active.good_config, frozenset()), active.surges.get(active.config, frozenset())
        moving = active.config if active.config != active.good_config else ""
        wanted = texts[active.good_config] if act == "fails" else act
        failure = Failure("ReplicasNotStarted", "") if act == "fails" else None
        for found in decided(active, wanted, failure=failure).annotate:
            active = annotated(active, found, START)
        active = dataclasses.replace(active, serve=ServeState(active.config, (Application("app", "DEPLOYING"),)))
        now = active.surges.get(active.config, frozenset())
        assert active.surges.get(active.good_config, frozenset()) == before, "the one to go back to is as it was"
        if active.config != active.good_config:
            assert now
            assert now.isdisjoint(before), "another replica"
            assert active.config == moving or now.isdisjoint(sent), "nor one that may never start"
