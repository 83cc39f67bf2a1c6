from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJob
from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition
from rayward.operator.job.state import Decision, State
from rayward.operator.job.status import reported
from tests.kinds.clusters import job_manifest

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAITS = Condition(type=QUOTA_RESERVED, status="False", reason="Pending", message="RayCluster j-1: Needs cpu 4")


def _quota(quota: Condition | None, phase: Phase) -> Condition | None:
    job = msgspec.convert({**job_manifest(), "status": {"jobDeploymentStatus": phase}}, RayJob)
    before = msgspec.structs.replace(job.status, conditions=(WAITS,))
    state = State(job, None, job.spec, quota=quota)
    return condition_of(reported(state, Decision(before, None), NOW).conditions, QUOTA_RESERVED)


def test_a_job_says_what_its_cluster_waits_for() -> None:
    found = _quota(WAITS, Phase.INITIALIZING)
    assert found is not None
    assert (found.status, found.reason, found.message) == ("False", "Pending", "RayCluster j-1: Needs cpu 4")


@pytest.mark.parametrize(
    ("quota", "phase"), [(None, Phase.INITIALIZING), (WAITS, Phase.COMPLETE), (WAITS, Phase.FAILED)]
)
def test_a_job_that_is_in_no_queue_or_has_ended_says_nothing_about_quota(quota: Condition | None, phase: Phase) -> None:
    assert _quota(quota, phase) is None
