"""A run is recorded, version by version: kstatus and Argo CD conclude of a RayJob what the operator knows."""

from __future__ import annotations

import msgspec
import pytest
from tools import fields

from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.watch import ChangeType
from rayward.kube.core.objects import KubeObject, version_number
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.reported import assert_reported
from tests.operator.service import verdicts
from tests.operator.watching import watching

pytestmark = pytest.mark.anyio

_OF_A_SILENT_HEAD = "status.jobStatusCheckFailureStartTime"
"""``test_state.py`` has one."""
_ENDS = {"Complete": ("Current", "Healthy"), "Failed": ("Failed", "Degraded")}


@pytest.mark.parametrize(
    ("entrypoint", "end"), [pytest.param("succeed", "Complete"), pytest.param("fail", "Failed", id="fail, twice")]
)
async def test_tools_agree_with_the_operator_in_every_version_of_a_run(
    ray: JobStage, entrypoint: str, end: str
) -> None:
    seen: dict[int, RayJob] = {}

    def saw(kind: ChangeType, found: KubeObject) -> None:
        if isinstance(found, RayJob) and found.status.conditions:
            seen[version_number(found.metadata.resource_version)] = found

    async with ray.operator(), watching(ray, ((RAY_JOBS, RayJob),), saw):
        await ray.create(ray_job(entrypoint, backoffLimit=1))
        version = version_number((await ray.until(end))["metadata"]["resourceVersion"])

        async def recorded() -> bool:
            return max(seen, default=0) >= version

        await ray.eventually(recorded)
    concluded: list[tuple[str, str]] = []
    for at in sorted(seen):
        written = verdicts.as_written(seen[at])
        concluded.append((verdicts.kstatus(written), verdicts.argocd(written)[0]))
        ended = seen[at].status.job_deployment_status == end
        assert concluded[-1] == (_ENDS[end] if ended else ("InProgress", "Progressing")), written["status"]
    if end == "Failed":
        statuses = (msgspec.to_builtins(found.status) for found in seen.values())
        assert_reported({path: row for path, row in fields.JOB.items() if path != _OF_A_SILENT_HEAD}, statuses)
    print(f"{len(concluded)} versions; {sorted(set(concluded))}")
    assert concluded[0] == ("InProgress", "Progressing")
    assert concluded[-1] == _ENDS[end]
