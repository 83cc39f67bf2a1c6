"""A kind of one's own: one entry in the registry, and no other module is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client import Counter as MetricCounter

from rayward.kube.core.objects import KubeObject
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import CONFIG_MAPS, EVENTS, SECRETS, Resource
from rayward.kube.runtime.cache import Cache, by_owner
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment, Registration, Source
from rayward.operator.base.writing import WRITE
from rayward.operator.ray.reach import NoReach
from rayward.operator.rbac import rules
from rayward.operator.registry import registrations
from tests.operator.stage import Stage, running

pytestmark = pytest.mark.anyio

GREETINGS: Final = Source(CONFIG_MAPS, KubeObject, {"label_selector": "example.com/greeting"}, metadata_only=True)
ENVELOPES: Final = Source(
    SECRETS, KubeObject, {"label_selector": "example.com/greeting"}, metadata_only=True, indexes={"owner": by_owner}
)


@dataclass(slots=True)
class Local:
    """How often this process reconciled a greeting."""

    runs: int = 0


class GreetingReconciler(Reconciler[KubeObject, Local]):
    """Each greeting has an envelope."""

    def __init__(self, environment: Environment, metrics: MetricCounter) -> None:
        super().__init__("greeting", environment, GREETINGS, WRITE, Local)
        self._envelopes = environment.informers.cache(ENVELOPES)
        self._sent = metrics
        self.controller.watch(self._envelopes, controller_key(CONFIG_MAPS))

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        return {CONFIG_MAPS: self.objects, SECRETS: self._envelopes}

    async def reconcile(self, found: KubeObject, local: Local) -> Result:
        local.runs += 1
        if self._envelopes.find("owner", found.metadata.uid) or found.deleting:
            return DONE
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": found.metadata.name, "uid": found.metadata.uid}
        metadata = {
            "name": found.metadata.name,
            "labels": {"example.com/greeting": ""},
            "ownerReferences": [{**owner, "controller": True}],
        }
        await self.writer(found).create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        self._sent.inc()
        self.recorder.event(CONFIG_MAPS, found, "Normal", "Enveloped", "Created the envelope")
        return DONE


GREETING: Final = Registration(
    name="greeting",
    resource=CONFIG_MAPS,
    component="greeting-controller",
    rules=(rule((*READ, "delete"), CONFIG_MAPS), rule(("create",), SECRETS)),
    build=GreetingReconciler,
    metrics=lambda registry: MetricCounter("greetings_sent", "Envelopes made.", registry=registry),
)


async def test_an_entry_brings_caches_reconciles_metrics_and_events(ray: Stage) -> None:
    registry = CollectorRegistry()
    recorder = EventRecorder(ray.client, "rayward-operator")
    entries = (*registrations(NoReach()), GREETING)
    manager = Manager(ray.client, entries, ray.namespace, recorder=recorder, metrics=Metrics(registry), workers=2)
    async with running(manager.run, recorder.run):
        metadata = {"name": "hello", "labels": {"example.com/greeting": ""}}
        await ray.client.create(CONFIG_MAPS, {"metadata": metadata}, ray.namespace)
        await ray.until_reasons("Enveloped")
        envelopes = [found["metadata"]["name"] for found in await ray.objects(SECRETS)]
        assert envelopes.count("hello") == 1
        (event,) = [found for found in await ray.objects(EVENTS) if found["reason"] == "Enveloped"]
        assert event["source"]["component"] == "greeting-controller"
        assert registry.get_sample_value("greetings_sent_total") == 1
        done = {"controller": "greeting", "result": "success"}
        assert registry.get_sample_value("controller_runtime_reconcile_total", done)
        # A child that somebody deletes is made again: its cache wakes the owner.
        await ray.client.delete(SECRETS, "hello", ray.namespace)

        async def again() -> bool:
            return registry.get_sample_value("greetings_sent_total") == 2

        await ray.eventually(again)


def test_its_rights_are_among_those_that_are_printed() -> None:
    printed = rules((*registrations(NoReach()), GREETING))

    def verbs(resource: str) -> set[str]:
        return {verb for each in printed if resource in each["resources"] for verb in each["verbs"]}

    assert verbs("configmaps") == {"get", "list", "watch", "delete"}
    assert "configmaps" not in str(rules(registrations(NoReach())))
    assert verbs("secrets") >= {"create", "patch"}


async def test_two_kinds_that_name_one_source_share_one_watch(ray: Stage) -> None:
    recorder = EventRecorder(ray.client, "rayward-operator")
    metrics = Metrics(CollectorRegistry())
    manager = Manager(ray.client, registrations(NoReach()), recorder=recorder, metrics=metrics, workers=2)
    watched = Counter(str(reflector.cache.resource) for reflector in manager.reflectors)
    # Jobs that clean up and Jobs that submit are two selections.
    assert {name: count for name, count in watched.items() if count > 1} == {"jobs.batch": 2}
