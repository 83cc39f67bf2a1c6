"""The change that a RayService is in, as a column of ``rayward get rayservices``."""

from __future__ import annotations

import re
from dataclasses import replace

from rayward.cli import fetch
from rayward.cli.catalogue import Kind
from rayward.cli.grid import Grid
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.sync import SyncClient
from rayward.kube.machinery.jsonvalue import Object, entries, section

_STATUS = "SERVICE STATUS"
_WIDEST = 80
_ABORTED = "Aborted"
_OF_ANNOTATION = "metadata.annotations: "
_OF_APPLICATION = re.compile(r"^Application \S+ is [A-Z_]+: ")
_OF_POD = re.compile(r'^pod \S+: (?:container \S+: )?(?:Back-off pulling image "[^"]*": )?(?:ErrImagePull: )?')
"""What kubelet says before the cause: a column has no room for it, ``describe`` has."""
_OF_WORKERS = re.compile(r"^RayCluster \S+ takes no traffic until all of its workers run: ")
_OF_FIELD = re.compile(
    r"^spec\.(?:[\w.\[\]-]+\.)??(?P<field>(?:[\w-]+\.)?[\w-]+):(?P<line> line \d+)?(?:, column \d+:)? "
)


def with_progress(client: SyncClient, kind: Kind, grid: Grid, namespace: str | None) -> Grid:
    """A table of RayServices with what becomes of the last edit; any other as it is."""
    if kind.resource != RAY_SERVICES or not grid.rows:
        return grid
    rows = fetch.of_rows(client, kind, grid, namespace)
    if _STATUS in grid.columns:
        place = grid.columns.index(_STATUS)
        cells = [
            (*row[:place], _status(row[place], service), *row[place + 1 :])
            for row, service in zip(grid.rows, rows, strict=True)
        ]
        grid = replace(grid, rows=tuple(cells))
    return grid.with_column("PROGRESS", [progress_of(service) if service else "<none>" for service in rows])


def progress_of(service: Object) -> str:
    """``Done``, what is waited for, or why the edit failed."""
    generation = section(service, "metadata").get("generation")
    conditions = {one.get("type"): one for one in entries(section(service, "status"), "conditions")}
    for kind, word in (("Stalled", "Failed: "), ("Reconciling", ""), ("WorkersMissing", "Done; ")):
        told = conditions.get(kind)
        if told is not None and told.get("status") == "True":
            reason = str(told.get("reason"))
            # Who aborts an upgrade has what was asked for.
            begin = "" if reason == _ABORTED else word
            text = f"{begin}{_cause(reason, str(told.get('message', '')).partition(chr(10))[0])}"
            return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."
    if section(service, "status").get("observedGeneration") != generation:
        return "Waiting for the operator"
    return "Suspended" if section(conditions, "Suspended").get("status") == "True" else "Done"


def _cause(reason: str, message: str) -> str:
    """What a column has room for: an application's exception, or what is wrong with a field or a pod."""
    exception = _OF_APPLICATION.sub("", message)
    if exception != message:
        pod = _OF_POD.match(exception)
        return exception[pod.end() :] if pod is not None else exception.partition(". ")[0]
    if (prefix := _OF_POD.match(message) or _OF_WORKERS.match(message)) is not None:
        return message[prefix.end() :]
    if (found := _OF_FIELD.match(message)) is not None:
        return f"{found['field']}{found['line'] or ''}: {message[found.end() :]}"
    if message.startswith(_OF_ANNOTATION):
        return message.removeprefix(_OF_ANNOTATION)
    return f"{reason}: {message}"


def _status(cell: str, service: Object) -> str:
    """KubeRay's word is empty until the service first serves."""
    if cell not in ("", "<none>"):
        return cell
    conditions = {one.get("type"): one for one in entries(section(service, "status"), "conditions")}
    if section(conditions, "Suspended").get("status") == "True":
        return "Suspended"
    return "Failed" if section(conditions, "Stalled").get("status") == "True" else "Initializing"
