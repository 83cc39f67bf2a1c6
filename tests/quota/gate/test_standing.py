"""When the policy Recreate stops a release that serves: only where that lets the new one run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kube.client.api import Client
from rayward.kube.core.objects import KubeObject
from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.kube.runtime.registry import Informers, Source
from rayward.quota.gate.observe import caches_of
from rayward.quota.gate.standing import Standings
from rayward.quota.sources import ALL_CLUSTER_QUEUES, ALL_FLAVORS, ALL_LOCAL_QUEUES
from rayward.stack.composition import SHARED
from tests.client.recording import RecordingTransport, answer_json
from tests.quota.engine.building import Quotas, cluster_queue, flavor, local_queue
from tests.quota.gate.stage import group, sized

_ORIGIN = {labels.QUEUE_NAME: "q", labels.ORIGIN_KIND: "RayService", labels.ORIGIN_NAME: "svc"}


def _release(name: str, head: Any, worker: Any, **annotations: str) -> RayCluster:
    meta = {"name": name, "namespace": "ns", "uid": name, "labels": _ORIGIN, "annotations": annotations}
    groups = [group(replicas=1, cpu=worker)] if worker else []
    spec = {"headGroupSpec": {"template": sized(head)}, "workerGroupSpecs": groups}
    return msgspec.convert({"metadata": meta, "spec": spec}, RayCluster)


def _stopped_for(quotas: Quotas, new: tuple[Any, Any], policy: str = "Recreate") -> str:
    """For which cluster a release of two CPUs for its head and two for its worker is stopped."""
    informers = Informers(Client(RecordingTransport(lambda _: answer_json(404, {}))), "ns", SYSTEM_CLOCK)
    caches = caches_of(informers, SHARED)

    def put(source: Source[Any], found: KubeObject) -> None:
        informers.cache(source).put(found, b"")

    for name in quotas:
        put(ALL_FLAVORS, flavor(name))
    sizes = {name: {**sizes, "memory": "9Gi"} for name, sizes in quotas.items()}
    put(ALL_CLUSTER_QUEUES, cluster_queue("cq", sizes))
    put(ALL_LOCAL_QUEUES, local_queue("q", "cq"))
    meta = {"name": "svc", "namespace": "ns", "annotations": {labels.QUOTA_POLICY: policy}}
    put(SHARED.services, msgspec.convert({"metadata": meta}, RayService))
    serving = _release("old", 2, 2, **{labels.PROMOTED: "yes"})
    for each in (serving, _release("new", *new)):
        put(SHARED.clusters, each)
    return Standings(caches, SYSTEM_CLOCK).replaced_by(serving)


@pytest.mark.parametrize(
    ("quotas", "new", "stopped_for"),
    [
        ({"f": {"cpu": 6}}, (2, 2), "new"),
        ({"f": {"cpu": 8}}, (2, 2), ""),
        ({"a": {"cpu": 3}, "b": {"cpu": 3}}, (1, 1), ""),
        ({"f": {"cpu": 6}}, (7, 0), ""),
        ({"f": {"cpu": 6}}, ("many", 0), ""),
    ],
    ids=["no room for both", "room for both", "room in two flavors", "no room for the new one at all", "unreadable"],
)
def test_a_release_is_stopped_only_where_the_next_one_can_run_without_it(
    quotas: Quotas, new: tuple[Any, Any], stopped_for: str
) -> None:
    assert _stopped_for(quotas, new) == stopped_for
    assert _stopped_for(quotas, new, policy="Wait") == ""
