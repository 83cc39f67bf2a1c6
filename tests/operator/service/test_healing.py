"""What is due for a cluster whose applications do not stay healthy."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from rayward.operator.service.healing import Remedy, decide
from rayward.operator.service.state import (
    DEPLOY_FAILED,
    RUNNING,
    UNHEALTHY,
    AnnotationChange,
    Application,
    ChildCluster,
    Healing,
    Policy,
    ServeState,
)

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_AFTER: Final = timedelta(seconds=10)
_POLICY: Final = Policy(healing=Healing(_AFTER, new_clusters=1))
_PATIENCE: Final = _POLICY.progress_deadline
_LATELY: Final = _NOW - timedelta(seconds=3)
_LONG: Final = _NOW - _AFTER


def _cluster(*states: str, since: datetime | None = None, remedies: int = 0) -> ChildCluster:
    applications = tuple(Application(f"app-{number}", state) for number, state in enumerate(states))
    serve = ServeState("config", applications) if states else None
    return ChildCluster("c", "hash", "config", serve=serve, unhealthy_since=since, remedies=remedies)


_REPLACED: Final = Remedy(replace=True, remedies=2)
_RECOVERED: Final = Remedy(change=AnnotationChange("c", healthy=True))
_NOTED: Final = Remedy(change=AnnotationChange("c", unhealthy_since=_NOW), requeue_at=_NOW + _AFTER)
_REDEPLOYED: Final = Remedy(
    change=AnnotationChange("c", unhealthy_since=_NOW, remedies=1), redeploy=True, remedies=1, requeue_at=_NOW + _AFTER
)


@pytest.mark.parametrize(
    ("cluster", "due"),
    [
        pytest.param(_cluster(RUNNING), Remedy(), id="healthy"),
        pytest.param(_cluster(DEPLOY_FAILED), Remedy(), id="a config that failed is no illness"),
        pytest.param(_cluster(RUNNING, UNHEALTHY), _NOTED, id="one of two falls ill"),
        pytest.param(_cluster(UNHEALTHY, since=_LATELY), Remedy(requeue_at=_LATELY + _AFTER), id="ill, not for long"),
        pytest.param(_cluster(UNHEALTHY, since=_LONG), _REDEPLOYED, id="ill for long enough"),
        pytest.param(_cluster(RUNNING, since=_LONG), _RECOVERED, id="well again"),
        pytest.param(_cluster(since=_LONG), Remedy(), id="not heard of"),
        pytest.param(
            _cluster("DEPLOYING", since=_LONG, remedies=1),
            Remedy(remedies=1, requeue_at=_LONG + _PATIENCE),
            id="being started anew",
        ),
        pytest.param(
            _cluster("DEPLOYING", since=_NOW - _PATIENCE, remedies=1),
            Remedy(replace=True, remedies=2),
            id="and never done",
        ),
        pytest.param(
            _cluster(DEPLOY_FAILED, since=_LONG, remedies=1),
            Remedy(replace=True, remedies=2),
            id="starting it anew failed",
        ),
        pytest.param(
            _cluster(UNHEALTHY, since=_LONG, remedies=1),
            Remedy(replace=True, remedies=2),
            id="starting it anew did not help",
        ),
        pytest.param(
            _cluster(UNHEALTHY, since=_LONG, remedies=2), Remedy(exhausted=True, remedies=2), id="everything was tried"
        ),
    ],
)
def test_the_next_remedy(cluster: ChildCluster, due: Remedy) -> None:
    assert decide(cluster, _POLICY, _NOW) == due


@pytest.mark.parametrize("states", [(), ("DEPLOYING",), (DEPLOY_FAILED,), (UNHEALTHY,)])
def test_a_successor_that_is_being_made_is_not_given_up_before_the_patient_is_well(states: tuple[str, ...]) -> None:
    ill = _cluster(*states, since=_LONG, remedies=1)
    assert decide(ill, _POLICY, _NOW, replacing=True).replace
    well = dataclasses.replace(ill, serve=ServeState("config", (Application("app", RUNNING),)))
    assert not decide(well, _POLICY, _NOW, replacing=True).replace


@pytest.mark.parametrize("states", [(UNHEALTHY,), (RUNNING,), ()])
def test_without_a_threshold_nothing_is_done_or_remembered(states: tuple[str, ...]) -> None:
    assert decide(_cluster(*states, since=_LONG), Policy(), _NOW) == Remedy()
