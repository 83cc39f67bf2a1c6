"""RayCronJob: its spec, status and CRD."""

from __future__ import annotations

from typing import Final

from tools.crds import job
from tools.crds.definition import column, conditions, definition, name_rules
from tools.crds.shape import Object, boolean, integer, listing, structure, text, time

NAME_MAX: Final = 36

_COLUMNS: Final = [
    column("schedule", ".spec.schedule"),
    column("timezone", ".spec.timeZone"),
    column("last schedule", ".status.lastScheduleTime", "date"),
    column("age", ".metadata.creationTimestamp", "date"),
    column("suspend", ".spec.suspend", "boolean"),
]


def crd() -> Object:
    """The manifest."""
    return definition(
        "RayCronJob",
        _COLUMNS,
        {"spec": _spec(), "status": _status()},
        name_rules("RayCronJob", NAME_MAX),
        only_v1=True,
    )


def _spec() -> Object:
    return structure(
        {
            "jobTemplate": job.spec("The RayJob that each tick makes."),
            "schedule": text("Five cron fields, or a descriptor such as @daily."),
            "timeZone": text("Whose wall clock counts, such as Europe/Berlin; UTC if unset.", minLength=1),
            "suspend": boolean("Makes no more RayJobs; those that run go on."),
            "concurrencyPolicy": text(
                "What a tick does while an earlier job still runs: Allow (as if unset), Forbid or Replace.",
                enum=["Allow", "Forbid", "Replace"],
            ),
            "startingDeadlineSeconds": integer("How late a missed tick may still start.", minimum=0),
            "successfulJobsHistoryLimit": integer("How many succeeded RayJobs stay; all if unset.", minimum=0),
            "failedJobsHistoryLimit": integer("How many failed RayJobs stay; all if unset.", minimum=0),
        },
        "What should run, and when.",
        required=("jobTemplate", "schedule"),
    )


def _status() -> Object:
    return structure(
        {
            "lastScheduleTime": time("The latest tick that was acted upon."),
            "lastSuccessfulTime": time("When a RayJob last succeeded."),
            "active": listing(
                structure({"name": text(), "uid": text()}),
                "RayJobs that have not ended.",
                maxItems=100,
                **{"x-kubernetes-list-type": "atomic"},
            ),
            "conditions": conditions(),
            "observedGeneration": integer("The generation of the spec that was last acted upon.", bits=64),
        },
        "What ran.",
    )
