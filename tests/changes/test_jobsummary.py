from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.jobsummary import Summary, summary

NOW = 1_767_225_700.0  # 2026-01-01T00:01:40Z
START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def _job(annotations: dict[str, str] | None = None, **status: Any) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations or {}}, "status": status}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (_job(), Summary(0, None, "")),
        (
            _job({"rayward.dev/attempt": '{"number": 2}'}, startTime=START, jobDeploymentStatus="Running"),
            Summary(2, 100.0, ""),
        ),
        (
            _job(startTime=START, endTime=END, jobDeploymentStatus="Complete", jobStatus="SUCCEEDED", succeeded=1),
            Summary(1, 60.0, ""),
        ),
        (
            _job(
                startTime=START,
                endTime=END,
                jobDeploymentStatus="Failed",
                reason="AppFailed",
                attempts=[{"number": 1, "exitCode": 1}, {"number": 2, "exitCode": 3}],
            ),
            Summary(2, 60.0, "AppFailed (exit code 3)"),
        ),
        (_job(jobDeploymentStatus="Complete", jobStatus="STOPPED"), Summary(0, None, "Stopped")),
        (
            _job(
                jobDeploymentStatus="Suspended",
                conditions=[{"type": "Suspended", "status": "True", "reason": "Suspended"}],
            ),
            Summary(0, None, "Suspended"),
        ),
        # KubeRay's operator keeps no rows and no annotation.
        (_job(rayClusterName="c", failed=1, jobDeploymentStatus="Running"), Summary(2, None, "")),
        (_job({"rayward.dev/attempt": "no JSON"}, startTime="never"), Summary(0, None, "")),
    ],
)
def test_a_job_in_a_few_words(job: dict[str, Any], expected: Summary) -> None:
    assert summary(job, NOW) == expected
