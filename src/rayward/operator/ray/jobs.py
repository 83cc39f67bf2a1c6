"""Ray's Jobs: submitted, looked at, stopped and read through the dashboard of one head."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from rayward.operator.ray.dashboard import Dashboard, readable
from rayward.operator.ray.errors import Failed, RayError
from rayward.operator.ray.reach import Answer, Ask

_JOBS: Final = "/api/jobs/"
_NOT_FOUND: Final = 404
_BAD_REQUEST: Final = 400
_SUBMIT_SECONDS: Final = 60.0
"""Ray waits for the head's agent, which starts after the dashboard."""
_MOST_LINES: Final = 1000
_LONGEST_TAIL: Final = 64 * 1024
_TAIL_BODY: Final = 4 * 1024 * 1024


class JobInfo(msgspec.Struct, frozen=True):
    """What Ray tells of one job; times are milliseconds since 1970."""

    status: str
    submission_id: str | None = None
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    driver_exit_code: int | None = None
    driver_node_id: str | None = None


class Submission(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job for Ray. ``submission_id`` is checked by Ray: a head takes each id once."""

    entrypoint: str
    submission_id: str
    runtime_env: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    entrypoint_resources: dict[str, float] | None = None


class _Stopped(msgspec.Struct, frozen=True):
    stopped: bool


class JobDashboard(Dashboard):
    """Asks one head about jobs; every failure is a RayError."""

    async def job(self, submission_id: str) -> JobInfo | None:
        """What Ray tells of one job; None when it knows no such job."""
        answer = await self._found("GET", f"{_JOBS}{quote(submission_id, safe='')}")
        return None if answer is None else self._decoded(answer, JobInfo)

    async def jobs(self) -> dict[str, JobInfo]:
        """All jobs that were submitted, by their submission id."""
        found = self._decoded(await self._ask("GET", _JOBS), list[JobInfo])
        return {job.submission_id: job for job in found if job.submission_id}

    async def submit(self, submission: Submission) -> bool:
        """Hand over a job; False when this head has one of that id already, which is then the one that counts.

        Raises:
            Refused: Ray will never take it.
        """
        body = msgspec.json.encode(submission)
        try:
            await self._ask("POST", _JOBS, body, _SUBMIT_SECONDS)
        except RayError as error:
            # 500 with a traceback (Ray 2.60) or 400: what counts is whether the job is there.
            if _is_taken(error, submission.submission_id):
                return False
            raise
        return True

    async def stop(self, submission_id: str) -> bool:
        """Ask Ray to end a job: SIGTERM, three seconds later SIGKILL. False when it had ended or was never there."""
        answer = await self._found("POST", f"{_JOBS}{quote(submission_id, safe='')}/stop", b"")
        return answer is not None and self._decoded(answer, _Stopped).stopped

    async def log_tail(self, job: JobInfo, lines: int = 100) -> str:
        """The end of the driver's log, at most 64 KiB of it; empty before the driver has a node.

        By node and file: Ray 2.60 fails to find the log of a driver that never connected to it by its submission id.
        """
        if not job.driver_node_id or not job.submission_id:
            return ""
        file = quote(f"job-driver-{job.submission_id}.log", safe="")
        path = f"/api/v0/logs/file?node_id={job.driver_node_id}&filename={file}&lines={min(lines, _MOST_LINES)}"
        ask = Ask("GET", path, self._headers, None, self._seconds, _TAIL_BODY)
        answer = await self._reach.ask(self._place, ask)
        if answer.status >= 300:
            self._refuse(answer, ask)
        return answer.body[-_LONGEST_TAIL:].decode(errors="replace")

    async def _found(self, method: str, path: str, body: bytes | None = None) -> Answer | None:
        ask = Ask(method, path, self._headers, body, self._seconds)
        answer = await self._reach.ask(self._place, ask)
        if answer.status == _NOT_FOUND and b"does not exist" in answer.body:
            return None
        if answer.status >= 300:
            if answer.status == _BAD_REQUEST:
                raise Failed(f"{self._place}: {readable(answer.body)}")
            self._refuse(answer, ask)
        return answer


def _is_taken(error: RayError, submission_id: str) -> bool:
    return f"submission_id {submission_id} already exists" in str(error)
