"""What the operator measures of services, as Prometheus reads it."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.objects import Condition
from rayward.operator.service.conditions import phase_of
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service

_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")


@pytest.mark.anyio
async def test_upgrades_are_measured(ray: ServiceStage) -> None:
    registry = CollectorRegistry()

    def value(name: str, **more: str) -> float | None:
        return registry.get_sample_value(name, {"name": NAME, "namespace": ray.namespace, **more})

    async with ray.operator(registry=registry):
        uid = (await ray.create(service(_A, rayClusterDeletionDelaySeconds=0)))["metadata"]["uid"]
        await ray.until_settled()
        assert value("kuberay_service_info", uid=uid) == 1
        assert value("rayward_service_upgrade_duration_seconds_count") == 0
        await ray.edit(rayClusterConfig=_B)
        await ray.until_settled()
        assert value("rayward_service_upgrade_duration_seconds_count") == 1
        await ray.edit(rayClusterConfig=_C, serveConfigV2=config("app:broken"))
        await ray.until("Progressing", "False")

        async def counted() -> bool:
            return value("rayward_service_upgrade_failures_total", reason="ServeDeployFailed") == 1

        await ray.eventually(counted)
        await ray.until_names(lambda names: len(names) == 1)

        async def shown() -> bool:
            return value("rayward_service_phase", uid=uid, phase="Running") == 1

        await ray.eventually(shown)
        assert value("kuberay_service_condition_ready", uid=uid, condition="true") == 1
        assert value("kuberay_service_condition_upgrade_in_progress", uid=uid, condition="false") == 1
        await ray.client.delete(RAY_SERVICES, NAME, ray.namespace)

        async def forgotten() -> bool:
            return NAME.encode() not in generate_latest(registry).replace(b"service", b"")

        await ray.eventually(forgotten)


@pytest.mark.parametrize(
    ("conditions", "phase"),
    [
        ({}, "Initializing"),
        ({"Ready": "False", "Progressing": "True"}, "Initializing"),
        ({"Ready": "False", "Progressing": "False"}, "Failed"),
        ({"Ready": "True", "Progressing": "False"}, "Running"),
        ({"Ready": "True", "UpgradeInProgress": "True"}, "Upgrading"),
        ({"Suspending": "True", "UpgradeInProgress": "True"}, "Suspending"),
        ({"Suspended": "True"}, "Suspended"),
    ],
)
def test_phases(conditions: dict[str, str], phase: str) -> None:
    assert phase_of(tuple(Condition(type=kind, status=status) for kind, status in conditions.items())) == phase


@pytest.mark.parametrize("reason", ["ClusterSuspended", "WaitingForQuota"])
def test_a_service_that_waits_for_quota_is_queued_whether_it_served_or_not(reason: str) -> None:
    for why in ("Initializing", "ZeroServeEndpoints"):
        ready = Condition(type="Ready", status="False", reason=why)
        assert phase_of((ready, Condition(type="Progressing", status="True", reason=reason))) == "Queued"
