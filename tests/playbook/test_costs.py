"""What ``apply --wait`` costs the server: requests and watches, as the command line asks under a running operator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.machinery import yamltext
from tests.cli.rayward import Done, run
from tests.kinds.clusters import changed
from tests.operator.job.stage import JobStage, ray_job
from tests.operator.service.stage import ServiceStage
from tests.operator.stage import Object, Stage, group, manifest

pytestmark = pytest.mark.anyio
_MOST: Final = 12
"""Requests for one object, beside its watch."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What blocking clients of this process asked; the operator in it has a client of another class."""

    requests: list[str] = field(default_factory=list[str])
    watches: list[str] = field(default_factory=list[str])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Asked]:
    found = _Asked()
    answer, watch = SyncClient.answer, SyncClient.watch

    def counted(self: SyncClient, request: Request) -> Any:
        found.requests.append(f"{request.method} {request.target.partition('?')[0]}")
        return answer(self, request)

    def watched(self: SyncClient, resource: Any, *arguments: Any, **options: Any) -> Any:
        found.watches.append(resource.kind)
        return watch(self, resource, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(SyncClient, "answer", counted)
        patched.setattr(SyncClient, "watch", watched)
        yield found


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    name = next(name for name in ("embedded", "real") if name in request.node.callspec.id)
    return request.getfixturevalue(f"{name}_kubeconfig")


async def _apply(kubeconfig: Path, stage: Stage, *bodies: Object) -> Done:
    text = "---\n".join(map(yamltext.dump, bodies))
    words = ("apply", "-f", "-", "--wait", "--kubeconfig", str(kubeconfig), "-n", stage.namespace)
    done = await asyncio.to_thread(run, *words, stdin=text)
    assert done.code == 0, done.err
    return done


def _cluster(name: str, version: str = "2.52.0") -> Object:
    body = manifest(name, groups=[group("wg", 1)], upgradeStrategy={"type": "Recreate"})
    return changed(body, "spec.workerGroupSpecs.0.template.spec.containers.0.image", f"rayproject/ray:{version}")


async def test_a_cluster_that_is_made_and_changed(ray: ServiceStage, kubeconfig: Path, asked: _Asked) -> None:
    async with ray.operator():
        for version in ("2.52.0", "2.53.0"):
            asked.requests.clear()
            asked.watches.clear()
            await _apply(kubeconfig, ray, _cluster("plain", version))
            # none where it was true before it was looked at
            assert asked.watches in ([], ["RayCluster"])
            assert 0 < len(asked.requests) <= _MOST, asked.requests


async def test_a_job_that_runs_to_its_end(access: Access, kubeconfig: Path, asked: _Asked) -> None:
    async with JobStage.on(access) as jobs, jobs.operator():
        await _apply(kubeconfig, jobs, ray_job("succeed", shutdownAfterJobFinishes=True))
        assert asked.watches in ([], ["RayJob"])
        assert 0 < len(asked.requests) <= _MOST, asked.requests


async def test_three_clusters_as_one_change(ray: ServiceStage, kubeconfig: Path, asked: _Asked) -> None:
    """They are waited for together, by one watch; none where all were true before they were looked at."""
    async with ray.operator():
        await _apply(kubeconfig, ray, *map(_cluster, ("one", "two", "three")))

        assert asked.watches in ([], ["RayCluster"])
        assert 0 < len(asked.requests) <= 3 * _MOST, asked.requests
