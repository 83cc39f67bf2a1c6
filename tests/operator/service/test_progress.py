"""Only what was never reached before is progress."""

from __future__ import annotations

import dataclasses

import pytest

from rayward.operator.service.readiness import first_progress, progress_of
from rayward.operator.service.state import RUNNING, UNHEALTHY, Application, ChildCluster, ServeState

NEW = ChildCluster("c", "hash", "1", progress=first_progress(suspended=False))
UP = dataclasses.replace(NEW, head_ready=True, ready_pods=2)


def _serving(cluster: ChildCluster, status: str, config: str = "1") -> ChildCluster:
    return dataclasses.replace(cluster, serve=ServeState(config, (Application("app", status),)))


def _went(*steps: ChildCluster) -> list[bool]:
    """Whether each step was progress, one remembering the other."""
    remembered, moved = NEW.progress, list[bool]()
    for step in steps:
        reached = progress_of(dataclasses.replace(step, progress=remembered))
        moved.append(reached != remembered)
        remembered = reached
    return moved


@pytest.mark.parametrize(
    ("steps", "moved"),
    [
        pytest.param([NEW, UP, _serving(UP, "DEPLOYING"), _serving(UP, RUNNING)], [False, True, True, True], id="on"),
        pytest.param([UP, NEW, UP, NEW, UP], [True, False, False, False, False], id="pods that come and go"),
        pytest.param(
            [_serving(UP, status) for status in ("DEPLOYING", UNHEALTHY, "DEPLOYING", RUNNING, UNHEALTHY, RUNNING)],
            [True, False, False, True, False, False],
            id="an application that recovers and falls ill again",
        ),
        pytest.param(
            [_serving(UP, RUNNING), UP, _serving(UP, RUNNING)], [True, False, False], id="a head that is lost"
        ),
        pytest.param([_serving(UP, RUNNING), _serving(UP, "DEPLOYING", "2")], [True, True], id="another config"),
        pytest.param(
            [dataclasses.replace(NEW, suspended=True), NEW, UP], [True, True, True], id="held, released, and on its way"
        ),
    ],
)
def test_progress(steps: list[ChildCluster], moved: list[bool]) -> None:
    assert _went(*steps) == moved


def test_what_is_remembered_badly_is_forgotten() -> None:
    assert progress_of(dataclasses.replace(UP, progress="nonsense")) == "head=1 pods=2 endpoints=0  "
