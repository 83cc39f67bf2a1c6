"""How a service may change is read from its spec and annotations."""

from __future__ import annotations

from datetime import timedelta

from rayward.kinds.rayservice import RayService, RayServiceSpec, ServiceUpgradeStrategy
from rayward.kube.core.objects import ObjectMeta
from rayward.operator.service.desired import policy_of
from rayward.operator.service.state import Policy


def test_without_any_setting_the_defaults_hold() -> None:
    assert policy_of(RayService()) == Policy()


def test_settings_are_read() -> None:
    service = RayService(
        metadata=ObjectMeta(annotations={"rayward.dev/progress-deadline": "5m", "rayward.dev/pause": "true"}),
        spec=RayServiceSpec(
            ray_cluster_deletion_delay_seconds=0,
            upgrade_strategy=ServiceUpgradeStrategy(type="None"),
            deployment_unhealthy_second_threshold=30,
            deployment_unhealthy_restart_threshold=2,
        ),
    )

    policy = policy_of(service)

    assert policy.progress_deadline == timedelta(minutes=5)
    assert policy.paused
    assert policy.in_place_only
    assert policy.deletion_delay == timedelta(0)
    assert policy.healing.unhealthy_after == timedelta(seconds=30)
    assert policy.healing.new_clusters == 2
