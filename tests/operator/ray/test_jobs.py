from __future__ import annotations

import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.operator.ray.errors import Failed, Refused, Unauthorized, Unintelligible, Unreachable
from rayward.operator.ray.jobs import JobDashboard, JobInfo, Submission
from tests.operator.ray.jobcontract import SCRIPTS, exercise
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach
from tests.operator.ray.test_dashboard import AT_ONCE, PLACE, Saying
from tests.runtime.virtual import VirtualClock, run


def test_a_simulated_head_does_with_jobs_what_is_asked_of_a_real_one() -> None:
    async def play() -> None:
        clock = VirtualClock()
        reach = SimulatedReach(clock)
        head = SimulatedHead(clock.now, token="secret")
        head.scripts.update(SCRIPTS)
        place = reach.add(head)
        await exercise(JobDashboard(reach, place, token="secret"), clock)
        with pytest.raises(Unauthorized):
            await JobDashboard(reach, place).job("good")

    run(play())


@pytest.mark.anyio
async def test_a_head_that_begins_anew_knows_no_jobs() -> None:
    reach = SimulatedReach()
    head = SimulatedHead(SYSTEM_CLOCK.now, timings=AT_ONCE)
    dashboard = JobDashboard(reach, reach.add(head))
    assert await dashboard.submit(Submission("echo", "a"))
    head.restart()
    assert await dashboard.job("a") is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (404, b"404: Not Found", Unintelligible),
        (500, b"Traceback: lost the agent", Failed),
        (503, b"starting", Unreachable),
        (400, b"Can only stop submission type jobs", Failed),
        (200, b"<html>", Unintelligible),
        (200, b'{"status": 7}', Unintelligible),
    ],
)
async def test_only_rays_own_word_means_that_a_job_is_unknown(status: int, body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        await JobDashboard(Saying(status, body), PLACE).job("a")


@pytest.mark.anyio
async def test_what_ray_refuses_is_told_apart_from_what_it_could_not_do() -> None:
    submission = Submission("echo", "a")
    with pytest.raises(Refused, match="runtime_env"):
        await JobDashboard(Saying(400, b"TypeError: runtime_env must be a dict"), PLACE).submit(submission)
    with pytest.raises(Failed):
        await JobDashboard(Saying(500, b"No available agent to submit job, please try again later."), PLACE).submit(
            submission
        )
    other = b"Job with submission_id other already exists."
    with pytest.raises(Failed):
        await JobDashboard(Saying(500, other), PLACE).submit(submission)


@pytest.mark.anyio
async def test_ids_are_quoted_and_tails_are_bounded() -> None:
    saying = Saying(200, b"x" * 100_000)
    job = JobInfo("RUNNING", "a/b", driver_node_id="n")
    text = await JobDashboard(saying, PLACE).log_tail(job, 10**9)
    assert len(text) == 64 * 1024
    assert saying.asked[0].path == "/api/v0/logs/file?node_id=n&filename=job-driver-a%2Fb.log&lines=1000"
    assert saying.asked[0].max_body <= 4 * 1024 * 1024
    assert await JobDashboard(saying, PLACE).log_tail(JobInfo("PENDING", "a")) == ""
