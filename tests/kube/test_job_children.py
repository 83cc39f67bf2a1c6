"""What KubeRay makes of RayJobs now, on both servers, is what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.contract.kubectl import targets
from tests.kube import kuberay, kuberay_jobs
from tests.kube.record import files
from tests.operator.job.likekuberay import RECORDED

pytestmark = pytest.mark.kube


@pytest.mark.parametrize("target", [targets.embedded, targets.real], ids=["embedded", "real"])
def test_the_recording_is_not_stale(target: Callable[[], AbstractContextManager[Path]]) -> None:
    with kuberay.operating(target()) as client:
        said = files.as_json(kuberay_jobs.record(client))
    assert files.same(RECORDED, said), (
        f"{RECORDED.name} is stale: look at it, then run python -m tests.kube.kuberay_jobs"
    )
