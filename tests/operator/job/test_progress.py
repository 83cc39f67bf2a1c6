from __future__ import annotations

import pytest

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJobStatus
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.progress import progress
from tests.operator.job.world import World, job

SILENT = Attempt(1, silent_since="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("phase", "job_status", "attempt", "selected", "says"),
    [
        (Phase.INITIALIZING, "", None, False, "Waiting for RayCluster c"),
        (
            Phase.INITIALIZING,
            "",
            SILENT,
            False,
            "dashboard of RayCluster c has not answered since 2026-01-01T00:00:00Z",
        ),
        (Phase.WAITING, "", None, False, "write its submission id into spec.jobId"),
        (Phase.RUNNING, "", None, False, "Submitting job i to RayCluster c"),
        (Phase.RUNNING, "RUNNING", None, False, "RayCluster c has job i"),
        (Phase.RUNNING, "RUNNING", SILENT, False, "has not answered since"),
        (Phase.SUSPENDING, "RUNNING", None, False, "Stopping job i and deleting RayCluster c"),
        (Phase.SUSPENDING, "RUNNING", None, True, "Stopping job i"),
        (Phase.RETRYING, "", None, False, "Deleting RayCluster c before the next attempt"),
    ],
)
def test_it_names_what_to_look_at(
    phase: Phase, job_status: str, attempt: Attempt | None, selected: bool, says: str
) -> None:
    status = RayJobStatus(job_deployment_status=phase, job_status=job_status, ray_cluster_name="c", job_id="i")
    said = progress(status, attempt, selected=selected)
    assert says in said
    if selected:
        assert "deleting" not in said


@pytest.mark.parametrize("phase", [Phase.COMPLETE, Phase.FAILED, Phase.SUSPENDED, Phase.VALIDATION_FAILED])
def test_what_is_not_under_way_waits_for_nothing(phase: Phase) -> None:
    assert progress(RayJobStatus(job_deployment_status=phase), None, selected=False) == ""


def test_a_plain_life_is_told_in_five_writes() -> None:
    world, written = World(job()), list[str]()
    for _ in range(30):
        before = world.job.status
        world.step()
        if world.job.status != before:
            status = world.job.status
            written.append(status.job_status or status.job_deployment_status)
        world.settle(1)
        if world.phase is Phase.RUNNING and len(written) == 3:
            world.end(JobStatus.SUCCEEDED)
    assert written == ["Initializing", "Running", "RUNNING", "SUCCEEDED", "SUCCEEDED"]
