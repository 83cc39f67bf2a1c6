"""What a head, real or simulated, must do with jobs."""

from __future__ import annotations

from rayward.kube.runtime.clock import Clock
from rayward.operator.ray.jobs import JobDashboard, JobInfo, Submission
from tests.operator.ray.jobs import Script

PATIENCE = 120.0
SCRIPTS = {
    "echo done": Script(log="done\n"),
    "echo sorry; exit 3": Script("FAILED", exit_code=3, log="sorry\n"),
    "sleep 600": Script(run_seconds=None),
    'echo "$COLOUR"': Script(log="blue\n"),
}


async def exercise(head: JobDashboard, clock: Clock) -> None:
    """Submit, refuse, follow, stop and read."""
    assert await head.job("nobody") is None
    assert await head.stop("nobody") is False

    assert await head.submit(Submission("echo done", "good"))
    assert await head.submit(Submission("echo done", "good")) is False, "an id is taken once"
    assert await head.submit(Submission("sleep 600", "good")) is False, "whatever the job"
    good = await _ended(head, "good", clock)
    assert (good.status, good.driver_exit_code, good.error_type) == ("SUCCEEDED", 0, None)
    assert good.start_time is not None
    assert good.end_time is not None
    assert good.end_time >= good.start_time
    assert "done" in await head.log_tail(good)
    assert await head.stop("good") is False, "it had ended"
    assert await head.submit(Submission("echo done", "good")) is False, "also after its end"

    assert await head.submit(Submission("echo sorry; exit 3", "bad"))
    bad = await _ended(head, "bad", clock)
    assert (bad.status, bad.driver_exit_code, bad.error_type) == ("FAILED", 3, "JOB_ENTRYPOINT_COMMAND_ERROR")
    assert "exit code 3" in (bad.message or "")

    environment = {"env_vars": {"COLOUR": "blue"}}
    submission = Submission('echo "$COLOUR"', "coloured", environment, {"team": "a"}, 0.5, None, None)
    assert await head.submit(submission)
    coloured = await _ended(head, "coloured", clock)
    assert coloured.status == "SUCCEEDED"
    assert "blue" in await head.log_tail(coloured, 5)

    assert await head.submit(Submission("sleep 600", "long"))
    await _until(head, "long", "RUNNING", clock)
    assert await head.stop("long")
    assert (await _ended(head, "long", clock)).status == "STOPPED"
    assert {name: job.status for name, job in (await head.jobs()).items()} == {
        "good": "SUCCEEDED",
        "bad": "FAILED",
        "coloured": "SUCCEEDED",
        "long": "STOPPED",
    }


async def _ended(head: JobDashboard, name: str, clock: Clock) -> JobInfo:
    return await _until(head, name, "SUCCEEDED FAILED STOPPED", clock)


async def _until(head: JobDashboard, name: str, statuses: str, clock: Clock) -> JobInfo:
    deadline = clock.now() + PATIENCE
    while True:
        found = await head.job(name)
        if found is not None and found.status in statuses.split():
            return found
        assert clock.now() < deadline, found
        await clock.sleep(0.2)
