"""A kind that is not installed when the operator starts, and is later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from rayward.kube.client.errors import NotFound
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment, Registration, Source
from rayward.operator import process
from rayward.operator.base.writing import WRITE
from rayward.operator.errors import OperatorError
from rayward.operator.process import Settings
from tests.operator.stage import Stage, running

pytestmark = pytest.mark.anyio

_SCHEMA: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(slots=True)
class _Local:
    runs: int = 0


class _Seen(Reconciler[KubeObject, _Local]):
    def __init__(self, environment: Environment, source: Source[KubeObject], seen: set[str]) -> None:
        super().__init__(source.resource.plural, environment, source, WRITE, _Local)
        self._seen = seen

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        return {}

    async def reconcile(self, found: KubeObject, local: _Local) -> Result:
        self._seen.add(found.metadata.name)
        return DONE


def _entry(resource: Resource, seen: set[str], *, optional: bool = False) -> Registration:
    source = Source(resource, KubeObject)
    return Registration(
        name=resource.plural,
        resource=resource,
        component="test",
        rules=(),
        build=lambda environment, _: _Seen(environment, source, seen),
        optional=optional,
    )


def _definition(resource: Resource) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "singular": resource.kind.lower(), "kind": resource.kind},
            "versions": [version],
        },
    }


async def test_a_kind_is_done_without_until_it_is_defined(ray: Stage, caplog: pytest.LogCaptureFixture) -> None:
    # A name of this test's own: the server is shared.
    late = Resource(f"{ray.namespace}.example.com", "v1", "greetings", "Greeting")
    seen, later = set[str](), set[str]()
    settings = Settings((ray.namespace,), leader_election=False, check_for_kuberay=False, kinds_seconds=0.05)

    def compose(_: object) -> tuple[Registration, ...]:
        return _entry(CONFIG_MAPS, seen), _entry(late, later, optional=True)

    await ray.client.create(CONFIG_MAPS, {"metadata": {"name": "here"}}, ray.namespace)
    with caplog.at_level(logging.WARNING, "rayward.operator.process"):
        async with running(lambda: process.run(ray.access, settings, compose)):

            async def works() -> bool:
                return "here" in seen

            await ray.eventually(works)
            assert sum("not defined here" in line for line in caplog.messages) == 1
            await ray.client.create(CUSTOM_RESOURCE_DEFINITIONS, _definition(late))
            try:
                await _created(ray, late)

                async def sees() -> bool:
                    return "hello" in later

                await ray.eventually(sees)
            finally:
                await ray.client.delete(CUSTOM_RESOURCE_DEFINITIONS, f"{late.plural}.{late.group}")


async def test_a_kind_that_is_needed_is_missed_at_the_start(ray: Stage) -> None:
    missing = Resource("nowhere.example.com", "v1", "greetings", "Greeting")
    settings = Settings((ray.namespace,), leader_election=False, check_for_kuberay=False)
    with pytest.raises(OperatorError, match="does not know Greetings"):
        await process.run(ray.access, settings, lambda _: (_entry(missing, set()),))


async def _created(ray: Stage, resource: Resource) -> None:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "hello"}}

    async def made() -> bool:
        try:
            await ray.client.create(resource, body, ray.namespace)
        except NotFound:
            # a definition is served a moment after it is accepted
            await asyncio.sleep(0.05)
            return False
        return True

    await ray.eventually(made)
