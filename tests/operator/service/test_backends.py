"""Where the serve Service leads: its endpoints and the proxy in front of it follow the selector in their own time."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.core.service import Service
from rayward.operator.cluster.pod import RayPod
from rayward.operator.service.backends import Backends, backends_of


def _pod(name: str) -> RayPod:
    return RayPod(metadata=ObjectMeta(name=name, uid=f"uid-{name}"))


_PODS = {"old": [_pod("old-head"), _pod("old-worker")], "new": [_pod("new-head")]}


def _backends(*ready: str, serving: str = "") -> Backends:
    annotations = {labels.SERVING: serving} if serving else None
    service = Service(metadata=ObjectMeta(name="svc-serve-svc", annotations=annotations))
    return backends_of((service,), frozenset(f"uid-{name}" for name in ready), _PODS)


_STILL = "Service svc-serve-svc still leads to pods of RayCluster old"
_NOT_YET = "Service svc-serve-svc has no ready endpoint of RayCluster new yet"


@pytest.mark.parametrize(
    ("found", "awaited"),
    [
        pytest.param(_backends("new-head"), "", id="all endpoints are its own"),
        pytest.param(_backends("old-head"), _STILL, id="all are another's"),
        pytest.param(_backends("old-worker", "new-head"), _STILL, id="one is another's"),
        pytest.param(_backends(), _NOT_YET, id="there is none"),
        pytest.param(_backends("nobody"), _NOT_YET, id="the pod is of a cluster that is gone"),
        pytest.param(_backends("new-head", serving="old-head,old-worker"), _STILL, id="the proxy has not followed"),
        pytest.param(_backends("new-head", serving="old-head,new-head"), _STILL, id="the proxy is between"),
        pytest.param(_backends("new-head", serving="new-head"), "", id="the proxy has followed"),
        pytest.param(_backends("new-head", serving="gone-head"), "", id="the proxy names a pod that is gone"),
    ],
)
def test_requests_have_moved_when_nothing_leads_elsewhere(found: Backends, awaited: str) -> None:
    assert found.awaited("new") == awaited


def test_without_a_service_nothing_leads_anywhere() -> None:
    found = backends_of((), frozenset(), _PODS)
    assert found == Backends()
    assert found.awaited("new") == "there is no serve Service yet that leads to RayCluster new"
