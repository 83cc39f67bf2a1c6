"""The older Endpoints."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.local.controllers.endpoints.legacy import may_go, subsets, wanted
from rayward.local.controllers.endpoints.service import SelectingService
from rayward.local.controllers.pods import SeenPod


def _service(*ports: int | str) -> SelectingService:
    listed = [{"name": f"port-{index}", "port": 80, "targetPort": port} for index, port in enumerate(ports)]
    spec = {"selector": {"app": "web"}, "ports": listed, "clusterIP": "10.43.0.9", "ipFamilies": ["IPv4"]}
    return msgspec.convert({"metadata": {"name": "web", "namespace": "x"}, "spec": spec}, SelectingService)


def _pods(count: int, *, ready: bool = True, start: int = 0, http: int = 8000) -> list[SeenPod]:
    made: list[SeenPod] = []
    for number in range(start, start + count):
        address = f"10.42.{number // 250}.{number % 250}"
        pod: dict[str, Any] = {
            "metadata": {"name": f"p{number}", "namespace": "x", "uid": f"u{number:05}"},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": http}]}]},
            "status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]},
        }
        pod["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
        made.append(msgspec.convert(pod, SeenPod))
    return made


def _shape(service: SelectingService, pods: list[SeenPod]) -> list[tuple[int, int, list[int]]]:
    return [
        (
            len(made.get("addresses", [])),
            len(made.get("notReadyAddresses", [])),
            [port["port"] for port in made.get("ports", [])],
        )
        for made in subsets(service, pods)
    ]


def test_ready_and_not_ready_are_apart() -> None:
    assert _shape(_service(9000), [*_pods(2), *_pods(3, ready=False, start=2)]) == [(2, 3, [9000])]


def test_ports_that_all_have_are_one_subset() -> None:
    assert _shape(_service("http", 9000), _pods(2)) == [(2, 0, [8000, 9000])]


def test_pods_that_have_a_port_elsewhere_are_another_subset() -> None:
    pods = [*_pods(2), *_pods(1, start=2, http=8001)]
    assert _shape(_service("http", 9000), pods) == [(2, 0, [8000]), (1, 0, [8001]), (3, 0, [9000])]


def test_nothing_is_written_when_nothing_changed() -> None:
    first = wanted(_service(9000), _pods(3), None, "2026-01-01T00:00:00Z")
    assert wanted(_service(9000), list(reversed(_pods(3))), first, "2026-01-02T00:00:00Z") is None


@pytest.mark.parametrize(
    ("pods", "ready", "others"),
    [
        (_pods(1000), 1000, 0),
        ([*_pods(900), *_pods(300, ready=False, start=900)], 900, 100),
        ([*_pods(1100), *_pods(300, ready=False, start=1100)], 1000, 0),
    ],
    ids=["as many as there may be", "ready ones first", "only ready ones"],
)
def test_there_are_at_most_a_thousand(pods: list[SeenPod], ready: int, others: int) -> None:
    made = wanted(_service(9000), pods, None, None)
    assert made is not None
    subset = made["subsets"][0]
    assert (len(subset.get("addresses", [])), len(subset.get("notReadyAddresses", []))) == (ready, others)
    cut = len(pods) > 1000
    assert (made["metadata"]["annotations"].get("endpoints.kubernetes.io/over-capacity") == "truncated") is cut
    assert wanted(_service(9000), pods, made, None) is None


def test_those_of_an_election_stay() -> None:
    assert may_go({"metadata": {}})
    assert not may_go({"metadata": {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}})
