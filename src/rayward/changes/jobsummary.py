"""A RayJob in a few words: which attempt, how long, and why it ended or waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from rayward.changes.joblog import conditions_of, rows_of
from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object, section


@dataclass(frozen=True, slots=True)
class Summary:
    """One line's worth of a RayJob.

    Attributes:
        attempt: The number of the latest attempt; 0 before there is one.
        seconds: How long that attempt took, or takes by now.
        cause: Why the job ended other than well, or what it waits for.
    """

    attempt: int
    seconds: float | None
    cause: str


def summary(job: Object, now: float) -> Summary:
    """What there is to say of a job at ``now``, in seconds since 1970."""
    status = section(job, "status")
    began, ended = _time(status.get("startTime")), _time(status.get("endTime"))
    seconds = max((ended or now) - began, 0.0) if began is not None else None
    return Summary(_attempt(job), seconds, _cause(job))


def _attempt(job: Object) -> int:
    rows = rows_of(job)
    latest = max((int(row.get("number") or 0) for row in rows), default=0)
    text = section(section(job, "metadata"), "annotations").get(labels.ATTEMPT)
    if isinstance(text, str):
        try:
            return max(latest, int(orjson.loads(text)["number"]))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return latest
    status = section(job, "status")
    counted = int(status.get("failed") or 0) + int(status.get("succeeded") or 0)
    running = bool(status.get("rayClusterName")) and not status.get("endTime")
    return max(latest, counted + running)


def _cause(job: Object) -> str:
    status = section(job, "status")
    phase = str(status.get("jobDeploymentStatus") or "")
    if phase in ("Complete", "Failed", "ValidationFailed"):
        if status.get("jobStatus") == "SUCCEEDED":
            return ""
        reason = str(status.get("reason") or ("Stopped" if status.get("jobStatus") == "STOPPED" else phase))
        code: Any = next((row.get("exitCode") for row in reversed(rows_of(job))), None)
        return f"{reason} (exit code {code})" if code else reason
    conditions = {str(one.get("type")): one for one in conditions_of(job)}
    for kind in ("Stalled", "Suspended", "Reconciling"):
        one: Object = conditions.get(kind, {})
        if one.get("status") == "True" and phase != "Running":
            return str(one.get("reason") or "")
    return ""


def _time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else None
    except ValueError:
        return None
