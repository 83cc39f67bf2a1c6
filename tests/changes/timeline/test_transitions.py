"""What two states of a Service, a Workload and a warning say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.changes.refs import Ref
from rayward.changes.revisions import manifest_of
from rayward.changes.timeline.transitions import of_event, of_pod, of_revision, of_service, of_workload
from rayward.changes.timeline.warned import Warned
from rayward.kinds import labels
from rayward.kinds.kueue import Workload
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.service import Service
from rayward.operator.cluster.pod import RayPod

_NOW = "2026-01-01T00:00:09Z"


def _service(selector: dict[str, str] | None, owner: str = "ray.io/v1") -> Service:
    owners = [{"apiVersion": owner, "kind": "RayService", "name": "shop", "uid": "1", "controller": True}]
    metadata = {"name": "shop-serve-svc", "namespace": "team", "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, "spec": {"selector": selector}}, Service)


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (
            _service({labels.CLUSTER: "a"}),
            _service({labels.CLUSTER: "b"}),
            ["Service selects pods of RayCluster b, not a"],
        ),
        (
            _service({labels.CLUSTER: "a"}),
            _service({labels.CLUSTER: "a", "x": "y"}),
            ["Service selects ray.io/cluster=a,x=y"],
        ),
        (_service({labels.CLUSTER: "a"}), _service(None), ["Service selects no pods"]),
        (_service({labels.CLUSTER: "a"}), _service({labels.CLUSTER: "a"}), []),
        (_service({labels.CLUSTER: "a"}, "apps/v1"), _service({labels.CLUSTER: "b"}, "apps/v1"), []),
        (None, _service({labels.CLUSTER: "a"}), []),
        (_service({labels.CLUSTER: "a"}), None, []),
    ],
)
def test_a_service_that_selects_others_switches_traffic(old: Any, new: Any, texts: list[str]) -> None:
    found = list(of_service(old, new, _NOW))
    assert [one.text for one in found] == texts
    assert all((one.what, one.kind, one.owner) == ("traffic", "Service", "RayService/shop") for one in found)


def _workload(**conditions: str) -> Workload:
    told = [
        {"type": name, "status": status, "reason": "R", "message": "why", "lastTransitionTime": "2026-01-01T00:00:05Z"}
        for name, status in conditions.items()
    ]
    metadata = {"name": "wl", "namespace": "team"}
    return msgspec.convert({"metadata": metadata, "status": {"conditions": told}}, Workload)


def test_a_workload_is_admitted_and_evicted() -> None:
    waits, runs = _workload(), _workload(Admitted="True", PodsReady="False")
    (admitted,) = of_workload(waits, runs, _NOW, "RayJob/train")
    assert (admitted.at, admitted.text, admitted.owner) == (
        "2026-01-01T00:00:05Z",
        "Admitted is True: R",
        "RayJob/train",
    )
    evicted = _workload(Admitted="False", Evicted="True")
    texts = [one.text for one in of_workload(runs, evicted, _NOW, "")]
    assert texts == ["Admitted is False: R", "Evicted is True: R"]
    assert not list(of_workload(evicted, evicted, _NOW, ""))
    assert not list(of_workload(evicted, None, _NOW, ""))


def _warning(**more: Any) -> Warned:
    about = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "team"}
    body = {"metadata": {"name": "e", "namespace": "team"}, "involvedObject": about, "reason": "BackOff"}
    return msgspec.convert({**body, "message": "again", "source": {"component": "kubelet"}, **more}, Warned)


def test_a_warning_that_repeats_is_told_each_time_its_number_doubled() -> None:
    told: list[str] = []
    old = None
    for count in range(1, 21):
        new = _warning(count=count, lastTimestamp=f"2026-01-01T00:00:{count:02d}Z")
        told += [f"{one.at[17:19]} {one.detail}" for one in of_event(old, new, _NOW, "")]
        old = new
    assert told == ["01 ", "02 2 times", "04 4 times", "08 8 times", "16 16 times"]


def test_a_warning_of_the_newer_kind_counts_in_its_series() -> None:
    series = {"count": 5, "lastObservedTime": "2026-01-01T00:00:07.000000Z"}
    new = _warning(count=0, series=series, eventTime="2026-01-01T00:00:01.000000Z", lastTimestamp=None)
    (found,) = of_event(None, new, _NOW, "RayService/shop")
    assert (found.at, found.detail) == ("2026-01-01T00:00:07.000000Z", "5 times")
    assert (found.kind, found.name, found.by, found.owner) == ("Pod", "p", "kubelet", "RayService/shop")
    assert found.text == "BackOff: again"


def _pod(phase: str, restarts: int = 0, reason: str = "") -> RayPod:
    status: dict[str, Any] = {
        "phase": phase,
        "reason": reason,
        "message": "The node was low on memory" if reason else "",
    }
    status["containerStatuses"] = [{"name": "ray", "restartCount": restarts}]
    return msgspec.convert({"metadata": {"name": "p", "namespace": "team"}, "status": status}, RayPod)


def test_a_pod_that_its_node_gave_up_says_why() -> None:
    (found,) = of_pod(_pod("Running"), _pod("Failed", reason="Evicted"), _NOW, "RayCluster/c")
    assert (found.text, found.detail) == ("pod failed: Evicted", "The node was low on memory")
    assert not list(of_pod(_pod("Failed", reason="Evicted"), _pod("Failed", reason="Evicted"), _NOW, ""))


def test_a_restart_is_told_with_their_number() -> None:
    (found,) = of_pod(_pod("Running"), _pod("Running", 1), _NOW, "RayCluster/c")
    assert found.text == "container ray was restarted (restart 1)"


def test_a_generation_that_was_requested_shows_the_values_before_and_after() -> None:
    live = {"metadata": {"name": "c", "uid": "u", "generation": 2}, "spec": {"rayVersion": "2.61.0"}}
    body = manifest_of(Ref("RayCluster", "c", "team"), live, before={"rayVersion": "2.60.0"})
    (found,) = of_revision(None, msgspec.convert(body, KubeObject), _NOW)
    assert (found.what, found.text) == ("spec", "generation 2 was requested (spec.rayVersion)")
    assert found.detail == "spec.rayVersion: 2.60.0 -> 2.61.0"
