from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.reflector import Reflector
from tests.runtime.simulated import Simulated
from tests.runtime.virtual import VirtualClock, run


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Metrics:
    return Metrics(registry)


def test_names_are_those_of_controller_runtime_and_client_go(metrics: Metrics, registry: CollectorRegistry) -> None:
    metrics.controller("raycluster", 10)
    metrics.leadership("operator")
    metrics.client("https://api:6443")(verbs.list_(PODS), 200)
    text = generate_latest(registry).decode()
    for line in (
        'controller_runtime_reconcile_total{controller="raycluster",result="success"} 0.0',
        'controller_runtime_reconcile_total{controller="raycluster",result="requeue_after"} 0.0',
        'controller_runtime_reconcile_errors_total{controller="raycluster"} 0.0',
        'controller_runtime_reconcile_time_seconds_count{controller="raycluster"} 0.0',
        'controller_runtime_max_concurrent_reconciles{controller="raycluster"} 10.0',
        'controller_runtime_active_workers{controller="raycluster"} 0.0',
        'workqueue_depth{controller="raycluster",name="raycluster"} 0.0',
        'workqueue_adds_total{controller="raycluster",name="raycluster"} 0.0',
        'workqueue_queue_duration_seconds_count{controller="raycluster",name="raycluster"} 0.0',
        'workqueue_work_duration_seconds_count{controller="raycluster",name="raycluster"} 0.0',
        'workqueue_retries_total{controller="raycluster",name="raycluster"} 0.0',
        'rest_client_requests_total{code="200",host="api:6443",method="GET"} 1.0',
        'leader_election_master_status{name="operator"} 0.0',
    ):
        assert line in text, line


def test_a_controller_is_counted(metrics: Metrics, registry: CollectorRegistry) -> None:
    async def scenario() -> None:
        async def reconcile(key: Key) -> Result:
            await asyncio.sleep(2)
            if key.name == "bad" and value("controller_runtime_reconcile_errors_total") == 0:
                raise ConnectionError
            return Result(requeue_after=1000) if key.name == "again" else DONE

        def value(metric: str, **labels: str) -> float | None:
            return registry.get_sample_value(metric, {"controller": "c", **labels})

        observer = metrics.controller("c", 2)
        controller = Controller("c", reconcile, workers=2, observer=observer, clock=VirtualClock(), chance=lambda: 0.5)
        task = asyncio.ensure_future(controller.run())
        for name in ("good", "bad", "again"):
            controller.add(Key("a", name))
        await asyncio.sleep(1)
        assert value("controller_runtime_active_workers") == 2
        assert value("workqueue_depth", name="c") == 1
        await asyncio.sleep(20)
        assert value("controller_runtime_active_workers") == 0
        assert value("controller_runtime_reconcile_total", result="success") == 2
        assert value("controller_runtime_reconcile_total", result="requeue_after") == 1
        assert value("controller_runtime_reconcile_total", result="error") == 1
        assert value("controller_runtime_reconcile_time_seconds_sum") == pytest.approx(8)
        assert value("workqueue_adds_total", name="c") == 5
        assert value("workqueue_retries_total", name="c") == 1
        assert value("workqueue_depth", name="c") == 1
        task.cancel()

    run(scenario())


def test_caches_show_how_fresh_they_are(metrics: Metrics, registry: CollectorRegistry) -> None:
    async def scenario() -> None:
        server = Simulated()
        server.create("good")
        server.create("odd", nodeName=5)
        reflector = Reflector(Client(server), Cache(PODS, Pod), clock=VirtualClock(), chance=lambda: 0.5)
        metrics.follow([reflector])
        assert registry.get_sample_value("rayward_reflector_last_sync_age_seconds", {"resource": "pods"}) is None
        task = asyncio.ensure_future(reflector.run())
        await reflector.wait_synced()
        await asyncio.sleep(30)
        assert registry.get_sample_value(
            "rayward_reflector_last_sync_age_seconds", {"resource": "pods"}
        ) == pytest.approx(30)
        assert registry.get_sample_value("rayward_cache_objects", {"resource": "pods"}) == 1
        assert registry.get_sample_value("rayward_cache_unreadable_objects", {"resource": "pods"}) == 1
        task.cancel()

    run(scenario())


def test_leadership(metrics: Metrics, registry: CollectorRegistry) -> None:
    report = metrics.leadership("operator")
    report(True)
    assert registry.get_sample_value("leader_election_master_status", {"name": "operator"}) == 1
    report(False)
    assert registry.get_sample_value("leader_election_master_status", {"name": "operator"}) == 0
