"""What is due for a cluster whose applications do not stay healthy."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from rayward.operator.service.healing import Healing, decide
from rayward.operator.service.member import DEPLOY_FAILED, RUNNING, UNHEALTHY, Application, Member, ServeSeen
from rayward.operator.service.situation import Note, Rules, Thresholds

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_AFTER: Final = timedelta(seconds=10)
_RULES: Final = Rules(healing=Thresholds(_AFTER, new_clusters=1))
_PATIENCE: Final = _RULES.progress_deadline
_LATELY: Final = _NOW - timedelta(seconds=3)
_LONG: Final = _NOW - _AFTER


def _member(*states: str, since: datetime | None = None, heals: int = 0) -> Member:
    applications = tuple(Application(f"app-{number}", state) for number, state in enumerate(states))
    serve = ServeSeen("config", applications) if states else None
    return Member("c", "hash", "config", serve=serve, unhealthy_since=since, heals=heals)


_NOTED: Final = Healing(note=Note("c", unhealthy_since=_NOW), next_look=_NOW + _AFTER)
_REDEPLOYED: Final = Healing(
    note=Note("c", unhealthy_since=_NOW, heals=1), redeploy=True, heals=1, next_look=_NOW + _AFTER
)


@pytest.mark.parametrize(
    ("member", "due"),
    [
        pytest.param(_member(RUNNING), Healing(), id="healthy"),
        pytest.param(_member(DEPLOY_FAILED), Healing(), id="a config that failed is no illness"),
        pytest.param(_member(RUNNING, UNHEALTHY), _NOTED, id="one of two falls ill"),
        pytest.param(_member(UNHEALTHY, since=_LATELY), Healing(next_look=_LATELY + _AFTER), id="ill, not for long"),
        pytest.param(_member(UNHEALTHY, since=_LONG), _REDEPLOYED, id="ill for long enough"),
        pytest.param(_member(RUNNING, since=_LONG), Healing(note=Note("c", healthy=True)), id="well again"),
        pytest.param(_member(since=_LONG), Healing(), id="not heard of"),
        pytest.param(
            _member("DEPLOYING", since=_LONG, heals=1),
            Healing(heals=1, next_look=_LONG + _PATIENCE),
            id="being started anew",
        ),
        pytest.param(
            _member("DEPLOYING", since=_NOW - _PATIENCE, heals=1), Healing(replace=True, heals=2), id="and never done"
        ),
        pytest.param(
            _member(DEPLOY_FAILED, since=_LONG, heals=1), Healing(replace=True, heals=2), id="starting it anew failed"
        ),
        pytest.param(
            _member(UNHEALTHY, since=_LONG, heals=1), Healing(replace=True, heals=2), id="starting it anew did not help"
        ),
        pytest.param(
            _member(UNHEALTHY, since=_LONG, heals=2), Healing(exhausted=True, heals=2), id="everything was tried"
        ),
    ],
)
def test_the_next_remedy(member: Member, due: Healing) -> None:
    assert decide(member, _RULES, _NOW) == due


@pytest.mark.parametrize("states", [(), ("DEPLOYING",), (DEPLOY_FAILED,), (UNHEALTHY,)])
def test_a_successor_that_is_being_made_is_not_given_up_before_the_patient_is_well(states: tuple[str, ...]) -> None:
    ill = _member(*states, since=_LONG, heals=1)
    assert decide(ill, _RULES, _NOW, underway=True).replace
    well = dataclasses.replace(ill, serve=ServeSeen("config", (Application("app", RUNNING),)))
    assert not decide(well, _RULES, _NOW, underway=True).replace


@pytest.mark.parametrize("states", [(UNHEALTHY,), (RUNNING,), ()])
def test_without_a_threshold_nothing_is_done_or_remembered(states: tuple[str, ...]) -> None:
    assert decide(_member(*states, since=_LONG), Rules(), _NOW) == Healing()
