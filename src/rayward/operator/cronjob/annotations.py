"""What a RayCronJob keeps as annotations where KubeRay's definition is installed, which has no fields for it."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from rayward.kinds import labels
from rayward.kinds.raycronjob import RayCronJob, RayCronJobStatus
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object, section

_FIELDS: Final = frozenset(("lastScheduleTime",))
"""Of the status: what KubeRay's definition has."""


def completed(cron_job: RayCronJob) -> RayCronJob:
    """With the conditions that are an annotation."""
    text, status = cron_job.metadata.annotation(labels.CONDITIONS), cron_job.status
    if status.conditions is not None or not text:
        return cron_job
    try:
        conditions = msgspec.json.decode(text, type=tuple[Condition, ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return cron_job
    return replace(cron_job, status=replace(status, conditions=conditions))


def has_own_definition(whole: Object) -> bool:
    """Whether the server keeps conditions, once some were written."""
    return "conditions" in section(whole, "status")


def kept(cron_job: RayCronJob, status: RayCronJobStatus) -> dict[str, str]:
    """The annotations to write."""
    text = msgspec.json.encode(status.conditions or ()).decode()
    return {labels.CONDITIONS: text} if cron_job.metadata.annotation(labels.CONDITIONS) != text else {}


def fields(change: Object) -> Object:
    """Of a change of the status: what KubeRay's definition does not drop."""
    return {name: value for name, value in change.items() if name in _FIELDS}
