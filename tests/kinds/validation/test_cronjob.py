from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds.raycronjob import RayCronJob
from rayward.kinds.validation import cron_job_problems, cron_job_warnings
from tests.kinds.clusters import changed, cron_job_manifest


def _cron_job(changes: dict[str, Any]) -> RayCronJob:
    value = cron_job_manifest()
    for path, part in changes.items():
        value = changed(value, path, part)
    return msgspec.convert(value, RayCronJob)


def _found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.path, problem.reason) for problem in cron_job_problems(_cron_job(changes))]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"spec.schedule": "@every 90s"},
        {"spec.timeZone": "America/New_York"},
        {"metadata.annotations": {"rayward.dev/time-zone": "America/New_York"}},
        {"metadata.annotations": {"rayward.dev/concurrency-policy": "Forbid"}},
        {"metadata.annotations": {"rayward.dev/failed-jobs-history-limit": "3"}},
    ],
)
def test_what_can_work_is_taken(changes: dict[str, Any]) -> None:
    assert _found(changes) == []


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"spec.schedule": "* * *"}, [("spec.schedule", "Invalid")]),
        ({"spec.schedule": "TZ=UTC 0 0 * * *"}, [("spec.schedule", "Invalid")]),
        ({"spec.timeZone": "Middle/Earth"}, [("spec.timeZone", "Invalid")]),
        ({"spec.concurrencyPolicy": "Maybe"}, [("spec.concurrencyPolicy", "Invalid")]),
        ({"spec.startingDeadlineSeconds": -1}, [("spec.startingDeadlineSeconds", "Invalid")]),
        ({"spec.jobTemplate.entrypoint": ""}, [("spec.jobTemplate.entrypoint", "Required")]),
        ({"metadata.annotations": {"rayward.dev/concurrency-policy": "x"}}, [("metadata.annotations", "Invalid")]),
        ({"metadata.annotations": {"rayward.dev/time-zone": "Middle/Earth"}}, [("metadata.annotations", "Invalid")]),
        (
            {"metadata.annotations": {"rayward.dev/successful-jobs-history-limit": "-1"}},
            [("metadata.annotations", "Invalid")],
        ),
        ({"metadata.name": "a" * 37}, [("metadata.name", "Invalid")]),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(
    changes: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    assert _found(changes) == problems


def test_a_template_that_never_starts_is_worth_a_warning() -> None:
    found = cron_job_warnings(_cron_job({"spec.jobTemplate.suspend": True, "spec.jobTemplate.jobId": "a"}))
    assert [problem.path for problem in found] == ["spec.jobTemplate.suspend", "spec.jobTemplate.jobId"]
