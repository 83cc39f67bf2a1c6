from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJob
from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition
from rayward.operator.job.decide import decide
from rayward.operator.job.state import Decision, State
from rayward.operator.job.status import reported
from tests.kinds.clusters import job_manifest
from tests.operator.job.world import World, job
from tests.operator.service import verdicts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAITS = Condition(type=QUOTA_RESERVED, status="False", reason="Pending", message="RayCluster j-1: Needs cpu 4")


def _quota(quota: Condition | None, phase: Phase) -> Condition | None:
    job = msgspec.convert({**job_manifest(), "status": {"jobDeploymentStatus": phase}}, RayJob)
    before = msgspec.structs.replace(job.status, conditions=(WAITS,))
    state = State(job, None, job.spec, quota=quota)
    return condition_of(reported(state, Decision(before, None), NOW).conditions, QUOTA_RESERVED)


def test_a_job_says_what_its_cluster_waits_for() -> None:
    found = _quota(WAITS, Phase.INITIALIZING)
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", "Pending", "RayCluster j-1: Needs cpu 4")


@pytest.mark.parametrize(
    ("quota", "phase"), [(None, Phase.INITIALIZING), (WAITS, Phase.COMPLETE), (WAITS, Phase.FAILED)]
)
def test_a_job_that_is_in_no_queue_or_has_ended_says_nothing_about_quota(quota: Condition | None, phase: Phase) -> None:
    assert _quota(quota, phase) is None


def _as_tools_read_it(world: World) -> tuple[str, str, int | None]:
    """What kstatus and Argo CD conclude, and the generation of ``Complete``."""
    state = world.state()
    told = reported(state, decide(state, world.now), world.now)
    world.job = msgspec.structs.replace(world.job, status=told)
    written = {"metadata": {"generation": world.job.metadata.generation}, "status": msgspec.to_builtins(told)}
    complete = condition_of(told.conditions, "Complete")
    assert complete is not None
    return verdicts.kstatus(written), verdicts.argocd(written)[0], complete.observed_generation


def _go_on(world: World) -> None:
    for _ in range(12):
        world.step()
        world.settle()


def test_tools_see_which_generation_of_a_job_ran() -> None:
    world = World(job())
    _go_on(world)
    assert _as_tools_read_it(world) == ("InProgress", "Progressing", 1)
    world.edit(entrypoint="other")
    assert _as_tools_read_it(world) == ("InProgress", "Progressing", 1)
    world.edit(entrypoint="run")
    assert _as_tools_read_it(world) == ("InProgress", "Progressing", 3)
    world.end(JobStatus.SUCCEEDED)
    _go_on(world)
    assert _as_tools_read_it(world) == ("Current", "Healthy", 3)
    world.edit(entrypoint="third")
    assert _as_tools_read_it(world) == ("Failed", "Degraded", 3)
    world.edit(entrypoint="run")
    assert _as_tools_read_it(world) == ("Current", "Healthy", 5)
    world.edit(active_deadline_seconds=60)
    assert _as_tools_read_it(world) == ("Current", "Healthy", 6), "that field counts at once"


def test_an_edit_of_a_job_that_runs_is_not_done_by_its_end() -> None:
    world = World(job())
    _go_on(world)
    world.edit(entrypoint="other")
    world.end(JobStatus.SUCCEEDED)
    _go_on(world)
    assert _as_tools_read_it(world) == ("Failed", "Degraded", 1)
