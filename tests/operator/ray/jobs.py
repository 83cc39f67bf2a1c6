"""Ray's Jobs, simulated: ids are taken once, entrypoints do what their script says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

import msgspec
import orjson

Answer = tuple[int, bytes]

_JOBS = "/api/jobs/"
_LOGS = "/api/v0/logs/file"
_NODE = "0" * 56
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class Script(msgspec.Struct, frozen=True):
    """What happens to an entrypoint; without an end it runs until it is stopped."""

    status: str = "SUCCEEDED"
    pending_seconds: float = 0.3
    run_seconds: float | None = 1.0
    exit_code: int = 0
    log: str = "hello\n"
    stop_seconds: float = 0.5


class _Job:
    def __init__(self, submission: dict[str, Any], script: Script, now: float) -> None:
        self.submission, self.script, self.at = submission, script, now
        self.stopped_at: float | None = None

    def status(self, now: float) -> str:
        end = self.end()
        if end is not None and now >= end:
            return "STOPPED" if self._is_stopped(end) else self.script.status
        return "PENDING" if now < self.at + self.script.pending_seconds else "RUNNING"

    def end(self) -> float | None:
        own = None
        if self.script.run_seconds is not None:
            own = self.at + self.script.pending_seconds + self.script.run_seconds
        if self.stopped_at is None:
            return own
        stopped = self.stopped_at + self.script.stop_seconds
        return stopped if own is None else min(own, stopped)

    def _is_stopped(self, end: float) -> bool:
        return self.stopped_at is not None and end == self.stopped_at + self.script.stop_seconds


class SimulatedJobs:
    """The jobs of one session."""

    def __init__(self, now: Callable[[], float], scripts: Mapping[str, Script], submitted: list[str]) -> None:
        self._now = now
        self._scripts = scripts
        self._jobs: dict[str, _Job] = {}
        self._submitted = submitted

    def answer(self, method: str, path: str, query: str, body: bytes | None) -> Answer | None:
        """What the dashboard answers; None where it is not about jobs."""
        if path == _LOGS and method == "GET":
            return self._log(parse_qs(query))
        if path == _JOBS:
            return self._submit(body or b"") if method == "POST" else (200, orjson.dumps(self._listed()))
        if not path.startswith(_JOBS):
            return None
        name, _, verb = path.removeprefix(_JOBS).partition("/")
        job = self._jobs.get(name)
        if job is None:
            return 404, f"Job {name} does not exist".encode()
        if verb == "stop" and method == "POST":
            return self._stop(job)
        return (200, orjson.dumps(self._told(name, job))) if not verb and method == "GET" else (404, b"404: Not Found")

    def _submit(self, body: bytes) -> Answer:
        try:
            submission = orjson.loads(body)
            entrypoint, name = submission["entrypoint"], submission["submission_id"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return 400, b"Traceback (most recent call last):\nTypeError: missing 1 required positional argument"
        if name in self._jobs:
            text = (
                f"Traceback ...\nRuntimeError: ... ValueError: Job with submission_id {name} already exists. Please use"
            )
            return 500, text.encode()
        self._jobs[name] = _Job(submission, self._scripts.get(entrypoint, Script()), self._now())
        self._submitted.append(name)
        return 200, orjson.dumps({"job_id": name, "submission_id": name})

    def _stop(self, job: _Job) -> Answer:
        now = self._now()
        running = job.status(now) not in _ENDED
        if running and job.stopped_at is None:
            job.stopped_at = now
        return 200, orjson.dumps({"stopped": running})

    def _log(self, query: dict[str, list[str]]) -> Answer:
        file, node = query.get("filename", [""])[0], query.get("node_id", [""])[0]
        job = self._jobs.get(file.removeprefix("job-driver-").removesuffix(".log"))
        if job is None or node != _NODE:
            return 500, b"500 Internal Server Error\n\nServer got itself in trouble"
        lines = job.script.log.splitlines(keepends=True)
        return 200, "".join(lines[-int(query.get("lines", ["1000"])[0]) :]).encode()

    def _listed(self) -> list[dict[str, Any]]:
        return [self._told(name, job) for name, job in self._jobs.items()]

    def _told(self, name: str, job: _Job) -> dict[str, Any]:
        now, end = self._now(), job.end()
        status = job.status(now)
        ended = status in _ENDED
        failed = status == "FAILED"
        return {
            "type": "SUBMISSION",
            "job_id": None if status == "PENDING" else "02000000",
            "submission_id": name,
            "driver_info": None,
            "status": status,
            "entrypoint": job.submission["entrypoint"],
            "message": f"Job entrypoint command failed with exit code {job.script.exit_code}"
            if failed
            else "Job finished successfully.",
            "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR" if failed else None,
            "start_time": int(job.at * 1000),
            "end_time": int(end * 1000) if ended and end is not None else None,
            "metadata": job.submission.get("metadata"),
            "runtime_env": job.submission.get("runtime_env"),
            "driver_agent_http_address": None if status == "PENDING" else "http://127.0.0.1:52365",
            "driver_node_id": None if status == "PENDING" else _NODE,
            "driver_exit_code": job.script.exit_code if ended and status != "STOPPED" else None,
        }
