"""What a table shows beside the server's columns: how far a change is, attempts of jobs, addresses for the shell."""

from __future__ import annotations

from rayward.cli import jobtable, reach
from rayward.cli.catalogue import Kind
from rayward.cli.grid import Grid
from rayward.cli.progress import with_progress
from rayward.cli.target import Session


def with_columns(session: Session, kind: Kind, grid: Grid, namespace: str | None) -> Grid:
    """A table of Ray's kinds or of Services with columns of ours; any other as it is."""
    grid = with_progress(session.client, kind, grid, namespace)
    grid = jobtable.with_attempts(session.client, kind, grid, namespace)
    return reach.with_addresses(session.client, kind, grid, namespace) if session.local else grid
