"""RayJobs in a table: which attempt, for how long, and why they ended."""

from __future__ import annotations

import time

from rayward.cli import fetch
from rayward.cli.catalogue import Kind
from rayward.cli.grid import Grid
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.sync import SyncClient

_NONE = "<none>"


def with_attempts(client: SyncClient, kind: Kind, grid: Grid, namespace: str | None) -> Grid:
    """A table of RayJobs with attempt, duration and cause; any other as it is."""
    if kind.resource != RAY_JOBS or not grid.rows:
        return grid
    from rayward.changes.jobsummary import summary
    from rayward.kube.machinery.duration import human

    now = time.time()
    rows = [summary(job, now) if job else None for job in fetch.of_rows(client, kind, grid, namespace)]
    grid = grid.with_column("ATTEMPT", [str(one.attempt) if one is not None else _NONE for one in rows])
    durations = [human(one.seconds) if one is not None and one.seconds is not None else _NONE for one in rows]
    grid = grid.with_column("DURATION", durations)
    return grid.with_column("CAUSE", [(one.cause if one is not None else "") or _NONE for one in rows])
