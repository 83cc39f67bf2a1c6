"""What is left to do for a cluster that is being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.validation import cluster_problems
from rayward.kube.core.resource import JOBS, Resource
from rayward.operator.cluster.finalize import finalize
from rayward.operator.cluster.state import Create, Decision, Observed, SetFinalizers
from tests.operator.cluster.world import NOW, cluster
from tests.operator.stage import manifest, template

_YEAR = 365 * 24 * 3600.0


def _deleted(pods: dict[str, Any] | None = None, timeout: str = "", **spec: Any) -> RayCluster:
    """A cluster at the moment of its deletion."""
    metadata = {
        "finalizers": [labels.REDIS_CLEANUP_FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {labels.FT_DELETION_TIMEOUT: timeout},
    }
    head = {"rayStartParams": {}, "template": template() if pods is None else pods}
    redis = {"redisAddress": "redis:6379"}
    return cluster(manifest(metadata=metadata, headGroupSpec=head, gcsFaultToleranceOptions=redis, **spec))


def _without_pods(deleted: RayCluster) -> Decision:
    return finalize(deleted, Observed(), NOW)


def _made(plan: Decision) -> list[Resource]:
    return [write.resource for stage in plan.stages for write in stage if isinstance(write, Create)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60),
        ("0060", 60),
        ("", 300),
        ("0", 300),
        ("-5", 300),
        ("soon", 300),
        ("²", 300),
        ("31536000", _YEAR),
        ("31536001", _YEAR),
        ("999999999999", _YEAR),
        ("9" * 5000, _YEAR),
    ],
    ids=lambda value: str(value)[:12],
)
def test_patience_is_what_the_annotation_says_and_at_most_a_year(text: str, seconds: float) -> None:
    plan = _without_pods(_deleted(timeout=text))
    assert (plan.requeue_after, _made(plan)) == (seconds, [JOBS])


@pytest.mark.parametrize(
    "pods", [{"spec": {"containers": []}}, {"spec": {}}, {}], ids=["no container", "no containers", "no template"]
)
def test_a_cluster_whose_job_cannot_be_made_is_released_and_the_keys_are_told(pods: dict[str, Any]) -> None:
    plan = _without_pods(_deleted(pods))
    assert plan.stages == ((SetFinalizers(()),),)
    (note,) = plan.events
    assert (note.type, note.reason) == ("Warning", "RedisCleanupFailed")
    assert "spec.headGroupSpec.template.spec.containers" in note.message


def test_after_a_refused_spec_that_has_a_container_the_keys_are_removed() -> None:
    refused = _deleted(upgradeStrategy={"type": "Sometimes"})
    assert cluster_problems(refused)
    assert _made(_without_pods(refused)) == [JOBS]
