"""The jobs that somebody waits for, as the poller sees them: all of one head in one look."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

import msgspec

from rayward.kube.runtime.backoff import Backoff
from rayward.kube.runtime.clock import Clock
from rayward.operator.ray.errors import RayError, WrongSession
from rayward.operator.ray.jobs import JobDashboard, JobInfo
from rayward.operator.ray.observation import Failure
from rayward.operator.ray.poller import Claim
from rayward.operator.ray.reach import Place, Reach

_QUICK: Final = 0.25
"""How late the end of a young job may be seen; such a look is one request."""
_LOOKS_PER_SECOND: Final = 200
"""Among many heads young jobs are looked at less often, so that a job among hundreds costs no more than one of few."""
_EXPECTING: Final = 0.5
"""For a job that somebody else submits: until Ray has it, a look is several requests. No young job waits longer."""
_SLOWEST: Final = 5.0
_PER_SECOND: Final = 0.02
"""A job that has run for an hour is not asked about four times a second: the pause grows with its age, and with that of
the wait for one."""
_IDLE: Final = 30.0
"""Where no job is waited for, as in InteractiveMode until the user names one: then a look comes at once."""
_BACKOFF: Final = Backoff(0.5, 10.0)
_UNENDED: Final = frozenset(("PENDING", "RUNNING"))

_Jobs = dict[str, JobInfo | None]


@dataclass(frozen=True, slots=True)
class JobTarget:
    """One head, and the jobs that it is asked about; another ``turn`` asks at once."""

    place: Place
    head: str = ""
    token: str = field(default="", repr=False)
    jobs: frozenset[str] = frozenset()
    turn: int = 0
    started: float = 0.0
    """When the head's containers last started, in seconds since 1970."""
    ours: frozenset[str] = frozenset()
    """Of ``jobs`` those that nobody but this operator submits: while Ray has them not, it need not be asked."""


class JobsSeen(msgspec.Struct, frozen=True):
    """The latest answer; ``jobs`` has an entry for each id that was asked for, None for one that Ray does not have."""

    session: str = ""
    jobs: dict[str, JobInfo | None] = {}
    turn: int = -1
    failure: Failure | None = None
    unknown_since: dict[str, float] = {}
    """Since when Ray is asked for the jobs that it does not have, in seconds since 1970."""
    dead_nodes: frozenset[str] = frozenset()
    """Ray nodes that died; only known where a job began before its head did."""


class JobProbe:
    """Asks heads about jobs."""

    def __init__(self, reach: Reach, clock: Clock) -> None:
        self._reach = reach
        self._clock = clock
        self.unseen: Final = JobsSeen()

    async def look(self, target: JobTarget, before: JobsSeen, claim: Claim) -> JobsSeen:
        """Session and jobs; an answer of another cluster's head is none."""
        dashboard = JobDashboard(self._reach, target.place, token=target.token)
        try:
            session, jobs = await _known(dashboard, target, before) or await _asked(dashboard, target, claim)
            dead = await _dead_nodes(dashboard, target, jobs)
        except RayError as error:
            failure = Failure(type(error).__name__, str(error))
            return JobsSeen(before.session, {}, target.turn, failure, before.unknown_since)
        now = self._clock.utc().timestamp()
        unknown = {name: before.unknown_since.get(name, now) for name, job in jobs.items() if job is None}
        return JobsSeen(session, jobs, target.turn, None, unknown, dead)

    def has_failed(self, seen: JobsSeen) -> bool:
        """Whether the head did not answer as it should."""
        return seen.failure is not None

    def pause(self, target: JobTarget, seen: JobsSeen, failures: int, chance: float, heads: int) -> float:
        """Seconds between two looks: short for jobs that are about to begin or began lately."""
        if failures:
            return _BACKOFF.after(failures, chance)
        now = self._clock.utc().timestamp()
        quick = min(max(_QUICK, heads / _LOOKS_PER_SECOND), _EXPECTING)
        pauses = [
            _until_submitted(now - seen.unknown_since.get(name, now), ours=name in target.ours)
            if job is None
            else _pause(job, now, quick)
            for name, job in seen.jobs.items()
        ]
        return min(pauses, default=_IDLE) * (0.9 + 0.2 * chance)


async def _known(dashboard: JobDashboard, target: JobTarget, before: JobsSeen) -> tuple[str, _Jobs] | None:
    """The jobs alone, while each is the one that was seen there before; None where the session has to be asked for."""
    if not target.jobs or any(before.jobs.get(name) is None for name in target.jobs):
        return None
    jobs = await _jobs(dashboard, target.jobs)
    if any(job is None or not _is_same(job, before.jobs[name]) for name, job in jobs.items()):
        return None
    return before.session, jobs


def _is_same(job: JobInfo, before: JobInfo | None) -> bool:
    """Whether it is one run: Ray writes ``start_time`` when it takes a job, and never again."""
    return before is not None and bool(job.start_time) and job.start_time == before.start_time


async def _asked(dashboard: JobDashboard, target: JobTarget, claim: Claim) -> tuple[str, _Jobs]:
    """Session and jobs, asked at once."""
    version, jobs = await asyncio.gather(dashboard.version(), _jobs(dashboard, target.jobs))
    if not claim(version.session_name):
        raise WrongSession(f"{target.place}: {version.session_name} is another cluster's head")
    # That a job is unknown must be said by the session that is named; whoever submits it asks for the session anyway.
    if any(job is None and name not in target.ours for name, job in jobs.items()):
        await dashboard.version(version.session_name)
    return version.session_name, jobs


async def _jobs(dashboard: JobDashboard, wanted: frozenset[str]) -> _Jobs:
    if len(wanted) == 1:
        (name,) = wanted
        return {name: await dashboard.job(name)}
    if not wanted:
        return {}
    known = await dashboard.jobs()
    return {name: known.get(name) for name in wanted}


async def _dead_nodes(dashboard: JobDashboard, target: JobTarget, jobs: _Jobs) -> frozenset[str]:
    """Which Ray nodes died, where that matters.

    A head that keeps its state has the jobs of before its restart, and Ray 2.60 calls them RUNNING for ever: it looks
    after them again only when somebody submits another one.
    """
    older = [job for job in jobs.values() if job is not None and job.status in _UNENDED and _is_older(job, target)]
    if not older:
        return frozenset()
    return frozenset(node.node_id for node in await dashboard.nodes() if node.state == "DEAD")


def _is_older(job: JobInfo, target: JobTarget) -> bool:
    return bool(job.start_time) and (job.start_time or 0) / 1000 < target.started


def _until_submitted(age: float, *, ours: bool) -> float:
    return _SLOWEST if ours else min(max(age * _PER_SECOND, _EXPECTING), _SLOWEST)


def _pause(job: JobInfo, now: float, quick: float) -> float:
    if job.status not in _UNENDED:
        # It stays so; whoever follows it has not come to it yet.
        return _SLOWEST
    if not job.start_time:
        return quick
    return min(max((now - job.start_time / 1000) * _PER_SECOND, quick), _SLOWEST)
