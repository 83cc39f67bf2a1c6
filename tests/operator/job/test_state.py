from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from rayward.kinds.rayjob import JobStatus, RayJob
from rayward.operator.job import annotations as memory
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.facts import Ray
from rayward.operator.job.state import RayView, State
from tests.kinds.clusters import job_manifest


@pytest.mark.parametrize(
    ("said", "lost", "expected"),
    [
        (JobStatus.RUNNING, False, Ray.RUNNING),
        # A head that keeps its state calls a job RUNNING though its driver died with the head before.
        (JobStatus.RUNNING, True, Ray.LOST),
        (JobStatus.PENDING, True, Ray.LOST),
        # What Ray wrote down before the node died is true.
        (JobStatus.SUCCEEDED, True, Ray.SUCCEEDED),
        (JobStatus.FAILED, True, Ray.FAILED),
    ],
)
def test_a_job_whose_drivers_node_died_does_not_run(said: JobStatus, lost: bool, expected: Ray) -> None:
    job = msgspec.convert(job_manifest(), RayJob)
    attempt = Attempt(1, "j-abcde", "j-abcde", session="s", **memory.frozen(job.spec))
    state = State(job, attempt, job.spec, ray=RayView(True, "s", said, driver_lost=lost))
    assert state.facts(datetime.now(UTC)).ray is expected
